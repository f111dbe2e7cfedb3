/** Reader of the OpenAPI document of a group version. The document comes from the cluster and may have any shape. */
import type { Resolve, Schema } from './schema-fields.ts';
import { schemaPositions } from './schema-positions.ts';

export interface KindName {
  group: string;
  version: string;
  kind: string;
}

type Positions = Awaited<ReturnType<typeof positionsIn>>;

/** Time for which the search of a document may block the page. */
const heldMs = 8;

/** A document whose schemas are parsed when they are asked for. */
export class SchemaDocument {
  readonly #text: string;
  readonly #positions: Positions;
  readonly #parsed = new Map<string, Schema>();

  private constructor(text: string, positions: Positions) {
    this.#text = text;
    this.#positions = positions;
  }

  static async read(text: string): Promise<SchemaDocument> {
    return new SchemaDocument(text, await positionsIn(text));
  }

  readonly resolve: Resolve = (name) => {
    const [known, position] = [this.#parsed.get(name), this.#positions.get(name)];
    if (known !== undefined || position === undefined) return known;
    const schema = JSON.parse(this.#text.slice(...position)) as Schema;
    this.#parsed.set(name, schema);
    return schema;
  };

  /** Names of schemas end with their kind. */
  rootOf({ group, version, kind }: KindName): Schema | undefined {
    const candidates = [...this.#positions.keys()].filter((name) => name.endsWith(`.${kind}`)).map(this.resolve);
    return candidates.find((schema) => {
      const names: unknown = schema?.['x-kubernetes-group-version-kind'];
      return Array.isArray(names) && names.some((one) => one?.group === group && one.version === version && one.kind === kind);
    });
  }
}

async function positionsIn(text: string) {
  const steps = schemaPositions(text);
  for (let began = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - began < heldMs) continue;
    await new Promise((resolve) => setTimeout(resolve));
    began = performance.now();
  }
}
