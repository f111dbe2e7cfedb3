/** Shapes of the built-in kinds, compiled from their published schemas: how a member is read, and the name that refusals give it. */
import { goTypeOf, kubernetesApi, referenceOf } from './kubernetes-api.ts';
import { isJsonObject, type JsonObject } from './objects.ts';

type Form =
  | 'object'
  | 'map'
  | 'list'
  | 'string'
  | 'int32'
  | 'int64'
  | 'bool'
  | 'float64'
  | 'bytes'
  | 'quantity'
  | 'intOrString'
  | 'time'
  | 'microTime'
  | 'open';

export interface Member {
  shape: Shape;
  /** Name of the member behind those of embedded structs. */
  goPath: string;
  /** An object that is there even where it is not written: Go has no pointer to it. */
  isStruct: boolean;
  /** Values that the schema allows. */
  allowed: readonly unknown[] | undefined;
}

export interface Shape {
  form: Form;
  goType: string;
  /** Name of the schema of an object, such as `io.k8s.api.core.v1.Container`. */
  name: string;
  members: Map<string, Member>;
  /** Shape of the items of a list, or of the values of a map. */
  items: Shape | undefined;
}

/** Types of Go that read their own JSON. */
const ownForms: Readonly<Record<string, Form>> = {
  'resource.Quantity': 'quantity',
  'intstr.IntOrString': 'intOrString',
  'v1.Time': 'time',
  'v1.MicroTime': 'microTime',
};

const shapes = new Map<string, Shape>();

/** Returns the shape of a schema by its name. Shapes refer to themselves, such as that of a schema in a definition. */
export function shapeNamed(name: string): Shape {
  const known = shapes.get(name);
  if (known !== undefined) return known;
  const { schemas, goTypes, embedded } = kubernetesApi();
  const schema = schemas[name] ?? {};
  const goType = name.split('.').slice(-2).join('.');
  const properties = (schema.properties ?? {}) as Record<string, JsonObject>;
  const isObject = Object.keys(properties).length > 0;
  const shape: Shape = { form: ownForms[goType] ?? (isObject ? 'object' : 'open'), goType, name, members: new Map(), items: undefined };
  shapes.set(name, shape);
  for (const [member, own] of Object.entries(properties)) {
    const path = embedded[name]?.[member];
    shape.members.set(member, {
      shape: shapeOf(own, goTypes[name]?.[member] ?? goTypeOf(own)),
      goPath: path === undefined ? member : `${path}.${member}`,
      isStruct: isJsonObject(own.default),
      allowed: (own.enum ?? (own.items as JsonObject | undefined)?.enum) as unknown[] | undefined,
    });
  }
  return shape;
}

function shapeOf(schema: JsonObject, goType: string): Shape {
  const name = referenceOf(schema);
  if (name !== undefined) return shapeNamed(name);
  const { type, format, items, additionalProperties } = schema;
  const plain = { goType, name: '', members: new Map(), items: undefined };
  if (type === 'array') return { ...plain, form: 'list', items: shapeOf(items as JsonObject, elementOf(goType, items as JsonObject)) };
  if (type === 'object' && additionalProperties)
    return {
      ...plain,
      form: 'map',
      items: shapeOf(additionalProperties as JsonObject, elementOf(goType, additionalProperties as JsonObject)),
    };
  if (type === 'string') return { ...plain, form: format === 'byte' ? 'bytes' : 'string' };
  if (type === 'integer') return { ...plain, form: format === 'int32' ? 'int32' : 'int64' };
  if (type === 'boolean') return { ...plain, form: 'bool' };
  return { ...plain, form: type === 'number' ? 'float64' : 'open' };
}

const elementOf = (goType: string, schema: JsonObject): string => {
  const [, element] = /^(?:\[\]|map\[[^\]]+\])(.+)$/.exec(goType) ?? [];
  return element ?? goTypeOf(schema);
};
