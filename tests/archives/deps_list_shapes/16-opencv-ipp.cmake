#: linked = ippicv ippiw opencv_core
#: add = opencv_imgproc
#: value = ocv_demo
#: words = opencv_imgproc
#: diff = ~1
if(HAVE_CUDA)
  ocv_target_link_libraries(ocv_demo PRIVATE cudart)
endif()
ocv_target_link_libraries(ocv_demo LINK_PRIVATE ippiw ippicv opencv_core)
