"""The Conan 2 recipe of tapegrad: conan create packaging/conan, in a checkout of the sources.

LAPACK and, if its static library is there, BLIS are those of the system: Conan's BLIS is another build, which has no folder of its own.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

SOURCES = ["CMakeLists.txt", "LICENSE", "cmake/*", "autograd/*", "nn/*", "optim/*", "distributed/*", "train/*", "checks/*", "tasks/*", "tutorials/*", "command/*", "examples/*", "docs/Doxyfile.in"]


class Tapegrad(ConanFile):
    name = "tapegrad"
    description = "Deep learning in C++20 on CPUs, reproducible to the last bit"
    license = "MIT"
    topics = ("automatic differentiation", "deep learning", "transformer")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    def set_version(self):
        project = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(tapegrad VERSION ([0-9.]+)", project).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in SOURCES:
            copy(self, pattern, top, self.export_sources_folder)

    def requirements(self):
        self.requires("fmt/9.1.0")
        self.requires("highway/1.0.3")
        self.requires("libjpeg/9e")
        self.requires("libpng/[>=1.6 <2]")
        self.requires("nlohmann_json/3.11.3")
        self.requires("onetbb/2021.12.0")
        self.requires("utfcpp/4.0.1")
        self.requires("xxhash/0.8.2")
        self.requires("zlib/[>=1.2.11 <2]")

    def system_requirements(self):
        Apt(self).install(["libblis-serial-dev", "liblapack-dev", "gfortran"])

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tapegrad needs Linux")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({"TAPEGRAD_COMMAND": False, "TAPEGRAD_TESTS": False, "CMAKE_DISABLE_FIND_PACKAGE_MPI": True})
        toolchain.generate()
        packages = CMakeDeps(self)
        packages.set_property("highway", "cmake_file_name", "hwy")  # the names that cmake/dependencies.cmake has
        packages.set_property("highway::hwy", "cmake_target_name", "hwy::hwy")
        packages.set_property("utfcpp", "cmake_file_name", "utf8cpp")
        packages.set_property("utfcpp", "cmake_target_name", "utf8::cpp")
        packages.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # tapegrad's own CMake package
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tapegrad")]
        self.cpp_info.libs = ["tapegrad_train", "tapegrad_distributed", "tapegrad"]
