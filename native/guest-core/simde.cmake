# Where SIMDe's headers are on Debian (package libsimde-dev). WAMR, which the QuickJS backend of `deno_core` compiles, fetches them
# over the network where this does not say it.
if(EXISTS /usr/include/simde/simde-common.h)
  set(FETCHCONTENT_SOURCE_DIR_SIMDE "/usr/include" CACHE PATH "SIMDe, of libsimde-dev")
endif()
