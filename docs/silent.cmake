# Prints what is in FILE, and fails if there is anything.
file(READ ${FILE} warnings)
if(warnings)
  message(FATAL_ERROR "${warnings}")
endif()
