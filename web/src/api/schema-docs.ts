/**
 * Descriptions of fields out of the OpenAPI document of a group version. A document comes from the cluster and may be of any shape.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */

type Node = Readonly<Record<string, unknown>>;

export interface KindName {
  group: string;
  version: string;
  kind: string;
}

/** A reference may lead to itself. */
const longestChain = 8;
const prefix = '#/components/schemas/';

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

const member = (node: unknown, name: string): unknown => (isNode(node) && Object.hasOwn(node, name) ? node[name] : undefined);

const schemasOf = (document: unknown): Node => {
  const schemas = member(member(document, 'components'), 'schemas');
  return isNode(schemas) ? schemas : {};
};

export class SchemaDocs {
  readonly #schemas: Node;

  constructor(document: unknown) {
    this.#schemas = schemasOf(document);
  }

  /** Returns the schema of a kind; undefined if the document lacks it. */
  ofKind({ group, version, kind }: KindName): Node | undefined {
    return Object.values(this.#schemas)
      .filter(isNode)
      .find((schema) => {
        const names = member(schema, 'x-kubernetes-group-version-kind');
        return (
          Array.isArray(names) &&
          names.some((name) => member(name, 'group') === group && member(name, 'version') === version && member(name, 'kind') === kind)
        );
      });
  }

  /** Returns the schema of a member of an object, or of the items of a list. */
  ofMember(schema: Node | undefined, name: string | number): Node | undefined {
    for (const node of this.#chain(schema)) {
      const found = typeof name === 'number' ? member(node, 'items') : this.#ofName(node, name);
      if (isNode(found)) return found;
    }
    return undefined;
  }

  #ofName(node: Node, name: string): unknown {
    return member(member(node, 'properties'), name) ?? member(node, 'additionalProperties');
  }

  /** Returns what the schema says of its field; the words beside a reference come before those behind it. */
  description(schema: Node | undefined): string {
    for (const node of this.#chain(schema)) {
      const text = member(node, 'description');
      if (typeof text === 'string' && text !== '') return text;
    }
    return '';
  }

  /** Returns the schema and those that it refers to. */
  #chain(schema: Node | undefined): Node[] {
    const chain: Node[] = [];
    for (let next = schema; next !== undefined && chain.length < longestChain; next = this.#next(next)) chain.push(next);
    return chain;
  }

  #next(schema: Node): Node | undefined {
    const reference = member(schema, '$ref');
    if (typeof reference === 'string' && reference.startsWith(prefix)) {
      const found = member(this.#schemas, reference.slice(prefix.length));
      return isNode(found) ? found : undefined;
    }
    const all = member(schema, 'allOf');
    return Array.isArray(all) && isNode(all[0]) ? all[0] : undefined;
  }
}
