# Runs at install time: see install.cmake.
if(NOT STAGE_SYSCONFDIR)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(STAGE_SYSCONFDIR /etc)
  else()
    set(STAGE_SYSCONFDIR ${CMAKE_INSTALL_PREFIX}/etc)
  endif()
endif()
set(STAGE_SLURM_CONF_DIR ${STAGE_SYSCONFDIR}/slurm)
set(STAGE_PLUGIN_PATH ${CMAKE_INSTALL_PREFIX}/${STAGE_PLUGIN_DIR}/spank_stage_model.so)
set(STAGE_DATA_DIR ${CMAKE_INSTALL_PREFIX}/${STAGE_DATA_DIR})

function(install_once file directory)
  get_filename_component(name ${file} NAME)
  if(EXISTS "$ENV{DESTDIR}${directory}/${name}")
    set(name ${name}.example)
  endif()
  file(INSTALL DESTINATION ${directory} TYPE FILE RENAME ${name} FILES ${file})
endfunction()

# Not into Slurm's own directory: a `Prolog=prolog.d/*` would run them at once.
set(STAGE_HOOK ${CMAKE_INSTALL_PREFIX}/${STAGE_PLUGIN_DIR}/stage-hook)
foreach(hook prolog epilog)
  configure_file(${STAGE_SOURCE_DIR}/${hook}.d/stage-model.sh.in
                 ${STAGE_WORK_DIR}/${hook}.d/stage-model.sh @ONLY)
  file(INSTALL DESTINATION ${STAGE_DATA_DIR}/${hook}.d TYPE PROGRAM
       FILES ${STAGE_WORK_DIR}/${hook}.d/stage-model.sh)
endforeach()

configure_file(${STAGE_SOURCE_DIR}/plugstack.conf.d/stage_model.conf.in
               ${STAGE_WORK_DIR}/stage_model.conf @ONLY)
install_once(${STAGE_SOURCE_DIR}/stage_model.toml ${STAGE_SLURM_CONF_DIR})
install_once(${STAGE_WORK_DIR}/stage_model.conf ${STAGE_SLURM_CONF_DIR}/plugstack.conf.d)
