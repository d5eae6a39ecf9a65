# cmake --install: every file where a site expects it. The plugin is kept per release of Slurm, so
# that the next one's can be installed before the upgrade. Nothing that an admin may have edited is
# ever overwritten: the new file is put beside it as NAME.example.
include(GNUInstallDirs)

set(STAGE_SYSCONFDIR "" CACHE PATH "Where slurm/ with the configuration is; empty: by the prefix")

# 0xMMmmpp
file(STRINGS ${SLURM_INCLUDE_DIR}/slurm/slurm_version.h _line REGEX "define SLURM_VERSION_NUMBER")
string(REGEX MATCH "0x([0-9a-fA-F][0-9a-fA-F])([0-9a-fA-F][0-9a-fA-F])" _match "${_line}")
math(EXPR _major "0x${CMAKE_MATCH_1}")
math(EXPR _minor "0x${CMAKE_MATCH_2}")
if(_minor LESS 10)
  set(_minor 0${_minor})
endif()
set(SLURM_RELEASE ${_major}.${_minor})
message(STATUS "Plugin for Slurm ${SLURM_RELEASE}")

set(_plugin_dir ${CMAKE_INSTALL_LIBDIR}/stage-model/slurm-${SLURM_RELEASE})
set(_data_dir ${CMAKE_INSTALL_DATADIR}/stage-model)
install(TARGETS stage-engine stage-launch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS spank_stage_model LIBRARY DESTINATION ${_plugin_dir})
if(TARGET stage-hook)
  install(TARGETS stage-hook RUNTIME DESTINATION ${_plugin_dir})  # it fits one release of Slurm, too
endif()
install(DIRECTORY examples DESTINATION ${_data_dir} USE_SOURCE_PERMISSIONS)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# The prefix is known when it is installed (--prefix), not before.
install(CODE "
  set(STAGE_SOURCE_DIR \"${CMAKE_SOURCE_DIR}/etc\")
  set(STAGE_SYSCONFDIR \"${STAGE_SYSCONFDIR}\")
  set(STAGE_PLUGIN_DIR \"${_plugin_dir}\")
  set(STAGE_DATA_DIR \"${_data_dir}\")
  set(SLURM_RELEASE \"${SLURM_RELEASE}\")
  set(STAGE_WORK_DIR \"${CMAKE_BINARY_DIR}/etc\")
")
install(SCRIPT etc/install_config.cmake)
