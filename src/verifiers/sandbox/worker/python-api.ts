import type { PyodideAPI } from 'pyodide'

/** A `PyObject *`. */
export type Ref = number

/**
 * What is used of Pyodide's Emscripten module and of CPython's C interface: numbers in and out, no proxies, so that nothing on the
 * JavaScript side holds an object of Python when memory is put back. Reaches behind Pyodide's public face: its version is pinned.
 */
export interface PythonModule {
  readonly HEAPU8: Uint8Array
  readonly HEAPU32: Uint32Array
  readonly HEAPF64: Float64Array
  FS: EmscriptenFs
  Py_EmscriptenSignalBuffer: unknown
  stackSave(): number
  stackRestore(at: number): void
  stackAlloc(bytes: number): number
  stringToNewUTF8(text: string): number
  UTF8ToString(at: number, maxBytes?: number): string
  _free(at: number): void
  _sbrk(bytes: number): number
  _Py_CompileStringExFlags(source: number, file: number, start: number, flags: number, optimize: number): Ref
  _PyEval_EvalCode(code: Ref, globals: Ref, locals: Ref): Ref
  _PyErr_GetRaisedException(): Ref
  _PyErr_Clear(): void
  _PyErr_GivenExceptionMatches(error: Ref, type: Ref): number
  _PyObject_CallOneArg(callable: Ref, argument: Ref): Ref
  _PyImport_AddModule(name: number): Ref
  _PyModule_GetDict(module: Ref): Ref
  _PyDict_GetItemString(dict: Ref, key: number): Ref
  _PyDict_DelItemString(dict: Ref, key: number): number
  _PyDict_Next(dict: Ref, at: number, key: number, value: number): number
  _PyTuple_GetItem(tuple: Ref, index: number): Ref
  _PyTuple_Size(tuple: Ref): number
  _PyList_GetItem(list: Ref, index: number): Ref
  _PyList_Size(list: Ref): number
  _PyObject_Str(object: Ref): Ref
  _PyObject_Repr(object: Ref): Ref
  _PyUnicode_AsUTF8AndSize(text: Ref, size: number): number
  _PyFloat_AsDouble(value: Ref): number
  _Py_IncRef(object: Ref): void
  _Py_DecRef(object: Ref): void
  readonly _PyExc_SystemExit: number
  readonly _PyExc_KeyboardInterrupt: number
  readonly _PyExc_MemoryError: number
  readonly _PyLong_Type: Ref
  readonly _PyBool_Type: Ref
  readonly _PyFloat_Type: Ref
  readonly _PyUnicode_Type: Ref
  readonly _PyList_Type: Ref
  readonly _PyTuple_Type: Ref
  readonly _PyDict_Type: Ref
  readonly __Py_NoneStruct: Ref
  readonly __Py_TrueStruct: Ref
  readonly _Py_EMSCRIPTEN_SIGNAL_HANDLING: number
  readonly _PyImport_Inittab: number
}

/** The file system of Emscripten as far as it is put back. Its nodes are plain objects. */
export interface EmscriptenFs {
  nameTable: (FsNode | undefined | null)[]
  streams: (Record<string, unknown> | null | undefined)[]
  currentPath: string
  ErrnoError: new (code: number) => Error
  nextInode: number
  filesystems: { MEMFS: { ops_table: { file: FsOps; dir: FsOps } } }
}

interface FsOps {
  node: Record<string, unknown>
  stream: Record<string, unknown>
}

export type FsNode = Record<string, unknown> & { name_next?: FsNode | null }

export function moduleOf(pyodide: PyodideAPI): PythonModule {
  return (pyodide as unknown as { _module: PythonModule })._module
}

/** C text for the length of a call. */
export function withText<T>(python: PythonModule, text: string, use: (at: number) => T): T {
  const at = python.stringToNewUTF8(text)
  if (at === 0) throw new RangeError('out of memory')
  try {
    return use(at)
  } finally {
    python._free(at)
  }
}

/** The text of a `str`. Only for exact strings: takes no detour through code of the program. */
export function textOf(python: PythonModule, text: Ref): string {
  const stack = python.stackSave()
  try {
    const size = python.stackAlloc(4)
    const at = python._PyUnicode_AsUTF8AndSize(text, size)
    if (at === 0) {
      python._PyErr_Clear() // lone surrogates
      return '(no text)'
    }
    const length = python.HEAPU32[size >> 2]!
    return new TextDecoder().decode(python.HEAPU8.slice(at, at + length))
  } finally {
    python.stackRestore(stack)
  }
}
