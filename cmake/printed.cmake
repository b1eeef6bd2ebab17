# Writes into FOLDER what COMMAND prints about itself: tapegrad.1.gz, and the completions bash, zsh and fish.
file(MAKE_DIRECTORY ${FOLDER})
foreach(shell bash zsh fish)
  execute_process(COMMAND ${COMMAND} completion ${shell} OUTPUT_FILE ${FOLDER}/${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${COMMAND} manual OUTPUT_FILE ${FOLDER}/tapegrad.1 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9nf ${FOLDER}/tapegrad.1 COMMAND_ERROR_IS_FATAL ANY)
