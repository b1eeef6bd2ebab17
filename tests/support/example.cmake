# Runs PROGRAM, an example, with a fresh FOLDER to write into: it must exit with 0 (target reached) and write a picture
# there.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${PROGRAM} ${FOLDER} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
file(GLOB_RECURSE pictures ${FOLDER}/*.svg ${FOLDER}/*.html)
if(NOT pictures)
  message(FATAL_ERROR "${PROGRAM} wrote no picture into ${FOLDER}")
endif()
