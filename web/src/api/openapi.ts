/** Schemas of kinds as the API server publishes them in /openapi/v3, kept for the session. */
import { call } from './client';
import type { Resolve, Schema } from './schema-fields.ts';
import { schemaPositions } from './schema-positions.ts';

export interface Schemas {
  /** The schema of a kind. */
  root: Schema;
  resolve: Resolve;
}

/** The time that the page may be held by the search of a document. */
const heldMs = 8;
const keptDocuments = 12;
/** A failure stands this long: the editor asks with each move of its cursor. */
const againMs = 30_000;

/** A document whose schemas are parsed when they are asked for. */
class Document {
  readonly #text: string;
  readonly #positions: Awaited<ReturnType<typeof positionsIn>>;
  readonly #parsed = new Map<string, Schema>();

  constructor(text: string, positions: Awaited<ReturnType<typeof positionsIn>>) {
    this.#text = text;
    this.#positions = positions;
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
    return candidates.find((schema) =>
      schema?.['x-kubernetes-group-version-kind']?.some((one) => one.group === group && one.version === version && one.kind === kind),
    );
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

interface KindName {
  group: string;
  version: string;
  kind: string;
}

const documents = new Map<string, Promise<Document>>();

async function fetchDocument(path: string): Promise<Document> {
  const text = await (await call(path, { headers: { Accept: 'application/json' } })).text();
  return new Document(text, await positionsIn(text));
}

function documentAt(path: string): Promise<Document> {
  let known = documents.get(path);
  if (known === undefined) {
    known = fetchDocument(path);
    known.catch(() => setTimeout(() => documents.delete(path), againMs));
  }
  documents.delete(path);
  documents.set(path, known);
  const [oldest] = documents.keys();
  if (documents.size > keptDocuments && oldest !== undefined) documents.delete(oldest);
  return known;
}

/** @returns undefined where the API server publishes no schema of the kind @throws Problem if the document cannot be read */
export async function fetchSchemas({ group, version, kind }: KindName): Promise<Schemas | undefined> {
  const parts = [...(group ? ['apis', group] : ['api']), version].map(encodeURIComponent);
  const document = await documentAt(`api/kubernetes/openapi/v3/${parts.join('/')}`);
  const root = document.rootOf({ group, version, kind });
  return root && { root, resolve: document.resolve };
}
