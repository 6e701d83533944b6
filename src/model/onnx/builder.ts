import onnxProto from 'onnx-proto'

const { onnx } = onnxProto

/**
 * Emits ONNX graphs. A {@link GraphBuilder} collects nodes; a {@link Value} is the name of one tensor in it.
 */

/** A tensor in a graph. Its name changes where it leaves the graph under another one; hold the value, not the name. */
export interface Value {
  readonly name: string
}

export type DType = 'float32' | 'int32' | 'int64' | 'bool'

const elementType: Record<DType, number> = {
  float32: onnx.TensorProto.DataType.FLOAT,
  int32: onnx.TensorProto.DataType.INT32,
  int64: onnx.TensorProto.DataType.INT64,
  bool: onnx.TensorProto.DataType.BOOL,
}

/** A dimension: fixed, or a symbol that stays open until the graph runs. */
export type Dim = number | string

export type Attribute =
  | number
  | string
  | readonly number[]
  | { float: number }
  | { floats: readonly number[] }

export interface NodeOptions {
  attrs?: Record<string, Attribute | undefined>
  /** `com.microsoft` for onnxruntime's contrib operators. */
  domain?: string
}

export class GraphBuilder {
  readonly name: string
  readonly #nodes: InstanceType<typeof onnx.NodeProto>[] = []
  readonly #inputs: InstanceType<typeof onnx.ValueInfoProto>[] = []
  readonly #outputs: InstanceType<typeof onnx.ValueInfoProto>[] = []
  readonly #initializers: InstanceType<typeof onnx.TensorProto>[] = []
  #serial = 0
  readonly #constants = new Map<string, Value>()
  /** Values that nodes of this graph make and that may still be renamed, with the node. */
  readonly #made = new Map<Value, InstanceType<typeof onnx.NodeProto>>()

  constructor(name: string) {
    this.name = name
  }

  input(name: string, dtype: DType, shape: readonly Dim[]): Value {
    this.#inputs.push(valueInfo(name, dtype, shape))
    return { name }
  }

  /** Declares an output. The node that makes `value` gives it under `name`; only an input, or what is an output already, is copied. */
  output(value: Value, dtype: DType, shape: readonly Dim[], name = value.name): void {
    if (name !== value.name && !this.#rename(value, name)) this.#push('Identity', [value], [name], {})
    this.#made.delete(value)
    this.#outputs.push(valueInfo(name, dtype, shape))
  }

  /** One node with one output. `null` stands for an omitted optional input. */
  op(type: string, inputs: readonly (Value | null)[], options: NodeOptions = {}): Value {
    return this.ops(type, inputs, 1, options)[0]!
  }

  /** One node with several outputs. */
  ops(type: string, inputs: readonly (Value | null)[], outputs: number, options: NodeOptions = {}): Value[] {
    const names = Array.from({ length: outputs }, () => this.#fresh(type))
    const node = this.#push(type, inputs, names, options)
    return names.map((name) => {
      const value = { name }
      this.#made.set(value, node)
      return value
    })
  }

  /** A float32 constant; equal constants are shared. */
  f32(data: number | readonly number[] | Float32Array, shape?: readonly number[]): Value {
    const values = typeof data === 'number' ? [data] : data
    return this.constant('float32', values, shape ?? (typeof data === 'number' ? [] : [values.length]))
  }

  /** An int64 constant. */
  i64(data: number | readonly number[], shape?: readonly number[]): Value {
    const values = typeof data === 'number' ? [data] : data
    return this.constant('int64', values, shape ?? (typeof data === 'number' ? [] : [values.length]))
  }

  /** An int32 constant. */
  i32(data: number | readonly number[], shape?: readonly number[]): Value {
    const values = typeof data === 'number' ? [data] : data
    return this.constant('int32', values, shape ?? (typeof data === 'number' ? [] : [values.length]))
  }

  constant(dtype: DType, values: ArrayLike<number>, shape: readonly number[]): Value {
    const raw = rawBytes(dtype, values)
    const key =
      values.length <= 64 ? `${dtype}:${shape.join(',')}:${Array.from(values).join(',')}` : undefined
    const known = key === undefined ? undefined : this.#constants.get(key)
    if (known) return known
    const name = this.#fresh('const')
    this.#initializers.push(
      onnx.TensorProto.create({ name, dims: [...shape], dataType: elementType[dtype], rawData: raw }),
    )
    const value = { name }
    if (key !== undefined) this.#constants.set(key, value)
    return value
  }

  /** The serialized model: what `InferenceSession.create` takes. Opset 17, plus onnxruntime's contrib operators. */
  toModel(): Uint8Array {
    const model = onnx.ModelProto.create({
      irVersion: 8,
      producerName: 'cascade',
      opsetImport: [
        { domain: '', version: 17 },
        { domain: 'com.microsoft', version: 1 },
      ],
      graph: {
        name: this.name,
        node: this.#nodes,
        input: this.#inputs,
        output: this.#outputs,
        initializer: this.#initializers,
      },
    })
    return onnx.ModelProto.encode(model).finish()
  }

  get nodeCount(): number {
    return this.#nodes.length
  }

  #push(
    type: string,
    inputs: readonly (Value | null)[],
    outputs: readonly string[],
    options: NodeOptions,
  ): InstanceType<typeof onnx.NodeProto> {
    const node = onnx.NodeProto.create({
      opType: type,
      name: this.#fresh(type),
      domain: options.domain ?? '',
      input: inputs.map((v) => v?.name ?? ''),
      output: [...outputs],
      attribute: Object.entries(options.attrs ?? {}).flatMap(([name, value]) =>
        value === undefined ? [] : [attribute(name, value)],
      ),
    })
    this.#nodes.push(node)
    return node
  }

  #fresh(hint: string): string {
    this.#serial += 1
    return `${hint}_${this.#serial}`
  }

  #rename(value: Value, name: string): boolean {
    const node = this.#made.get(value)
    if (!node) return false
    const change = (names: string[]) => names.map((n) => (n === value.name ? name : n))
    node.output = change(node.output!)
    for (const user of this.#nodes) if (user.input!.includes(value.name)) user.input = change(user.input!)
    ;(value as { name: string }).name = name
    return true
  }
}

function attribute(name: string, value: Attribute): InstanceType<typeof onnx.AttributeProto> {
  const { AttributeType } = onnx.AttributeProto
  if (typeof value === 'number')
    return onnx.AttributeProto.create({ name, type: AttributeType.INT, i: value })
  if (typeof value === 'string') {
    return onnx.AttributeProto.create({
      name,
      type: AttributeType.STRING,
      s: new TextEncoder().encode(value),
    })
  }
  if ('float' in value) return onnx.AttributeProto.create({ name, type: AttributeType.FLOAT, f: value.float })
  if ('floats' in value) {
    return onnx.AttributeProto.create({ name, type: AttributeType.FLOATS, floats: [...value.floats] })
  }
  return onnx.AttributeProto.create({ name, type: AttributeType.INTS, ints: [...value] })
}

function valueInfo(
  name: string,
  dtype: DType,
  shape: readonly Dim[],
): InstanceType<typeof onnx.ValueInfoProto> {
  return onnx.ValueInfoProto.create({
    name,
    type: {
      tensorType: {
        elemType: elementType[dtype],
        shape: { dim: shape.map((d) => (typeof d === 'number' ? { dimValue: d } : { dimParam: d })) },
      },
    },
  })
}

function rawBytes(dtype: DType, values: ArrayLike<number>): Uint8Array {
  let typed: Float32Array | Int32Array | BigInt64Array | Uint8Array
  if (dtype === 'float32') typed = values instanceof Float32Array ? values : Float32Array.from(values)
  else if (dtype === 'int32') typed = Int32Array.from(values)
  else if (dtype === 'int64') typed = BigInt64Array.from(Array.from(values, (v) => BigInt(v)))
  else typed = Uint8Array.from(values)
  return new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength)
}
