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

configure_file(${STAGE_SOURCE_DIR}/plugstack.conf.d/stage_model.conf.in
               ${STAGE_WORK_DIR}/stage_model.conf @ONLY)
install_once(${STAGE_SOURCE_DIR}/stage_model.toml ${STAGE_SLURM_CONF_DIR})
install_once(${STAGE_WORK_DIR}/stage_model.conf ${STAGE_SLURM_CONF_DIR}/plugstack.conf.d)
