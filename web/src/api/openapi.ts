/** Schemas of kinds as the API server publishes them in /openapi/v3, kept for the session. */
import { call } from './client';
import { asProblem } from './problem';
import { type KindName, SchemaDocument } from './schema-document.ts';
import type { Schemas } from './schema-fields.ts';

const keptDocuments = 12;
/** Time for which a failure is remembered: the editor asks with each move of its cursor. */
const [againMs, outageMs] = [30_000, 1000];

const documents = new Map<string, Promise<SchemaDocument>>();

async function fetchDocument(path: string): Promise<SchemaDocument> {
  const text = await (await call(path, { headers: { Accept: 'application/json' } })).text();
  return SchemaDocument.read(text);
}

function documentAt(path: string): Promise<SchemaDocument> {
  let known = documents.get(path);
  if (known === undefined) {
    known = fetchDocument(path);
    known.catch((error: unknown) => setTimeout(() => documents.delete(path), asProblem(error).isOutage ? outageMs : againMs));
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
