import type { Value } from '../sandbox.ts'
import { type PythonModule, type Ref, textOf } from './python-api.ts'

const maxDepth = 200
const maxItems = 200_000

class NotData extends Error {}

/**
 * A result as data. Types are compared by the address of their type object and read by the C interface, so that no class of the
 * program, however it overrides comparison or conversion, has a say in what its value is.
 */
export function dataOf(python: PythonModule, object: Ref): Value {
  let left = maxItems
  const read = (ref: Ref, depth: number): unknown => {
    if (depth > maxDepth || --left < 0) throw new NotData()
    if (ref === python.__Py_NoneStruct) return null
    switch (python.HEAPU32[(ref >> 2) + 1]) {
      case python._PyBool_Type:
        return ref === python.__Py_TrueStruct
      case python._PyLong_Type:
        return integer(python, ref)
      case python._PyFloat_Type:
        return python._PyFloat_AsDouble(ref)
      case python._PyUnicode_Type:
        return textOf(python, ref)
      case python._PyList_Type:
        return Array.from({ length: python._PyList_Size(ref) }, (_, i) =>
          read(python._PyList_GetItem(ref, i), depth + 1),
        )
      case python._PyTuple_Type:
        return Array.from({ length: python._PyTuple_Size(ref) }, (_, i) =>
          read(python._PyTuple_GetItem(ref, i), depth + 1),
        )
      case python._PyDict_Type:
        return record(python, ref, (value) => read(value, depth + 1))
      default:
        throw new NotData()
    }
  }
  try {
    return { data: true, value: read(object, 0) }
  } catch (error) {
    if (!(error instanceof NotData)) throw error
    return { data: false, text: representation(python, object) }
  }
}

function integer(python: PythonModule, ref: Ref): number | bigint {
  const text = python._PyObject_Str(ref)
  if (text === 0) {
    python._PyErr_Clear() // more digits than Python writes
    throw new NotData()
  }
  const digits = textOf(python, text)
  python._Py_DecRef(text)
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

function record(python: PythonModule, ref: Ref, read: (value: Ref) => unknown): Record<string, unknown> {
  const stack = python.stackSave()
  try {
    const at = python.stackAlloc(16)
    python.HEAPU32[at >> 2] = 0
    const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>
    while (python._PyDict_Next(ref, at, at + 4, at + 8)) {
      const key = python.HEAPU32[(at >> 2) + 1]!
      const value = python.HEAPU32[(at >> 2) + 2]!
      // JSON knows text keys alone.
      if (python.HEAPU32[(key >> 2) + 1] !== python._PyUnicode_Type) throw new NotData()
      out[textOf(python, key)] = read(value)
    }
    return out
  } finally {
    python.stackRestore(stack)
  }
}

function representation(python: PythonModule, object: Ref): string {
  const text = python._PyObject_Repr(object)
  if (text === 0) {
    python._PyErr_Clear()
    return '(no representation)'
  }
  const out = textOf(python, text).slice(0, 2000)
  python._Py_DecRef(text)
  return out
}
