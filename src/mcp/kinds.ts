import { callerKey } from '@atrium/http/caller.ts';
import { AnswerCache } from '@atrium/kubernetes/answer-cache.ts';
import { corePath, groupsPath, type ResourceType } from '@atrium/kubernetes/resource.ts';
import { pageAsOutage } from '@atrium/kubernetes/upstream-error.ts';
import { reader } from '@atrium/objects/reader.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { ToolCall } from './tool.ts';

/** Kind that the API server serves. */
export interface ServedKind {
  readonly type: ResourceType;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** Names in lower case: plural, singular, kind and short names. */
  readonly names: readonly string[];
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const lifetimeMs = 60_000;
const maxBytes = 16 * 1024 * 1024;
const bytesOfKind = 300;

/** @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery */
const readGroups = reader(
  z.object({
    items: z.array(
      z.object({
        metadata: z.object({ name: z.string() }),
        versions: z.array(
          z.object({
            version: z.string(),
            resources: z.array(
              z.object({
                resource: z.string(),
                responseKind: z.object({ kind: z.string() }),
                scope: z.string(),
                singularResource: z.string(),
                shortNames: z.array(z.string()),
              }),
            ),
          }),
        ),
      }),
    ),
  }),
);

/** Finds kinds by the names that kubectl takes, in what the API server tells the caller. */
export class Kinds {
  readonly #apiServer: Services['apiServer'];
  readonly #kinds: AnswerCache<readonly ServedKind[]>;

  constructor({ apiServer, metrics, clock }: Services) {
    this.#apiServer = apiServer;
    this.#kinds = new AnswerCache({
      name: 'agent-kinds',
      maxBytes,
      bytesOf: (kinds) => kinds.length * bytesOfKind,
      lifetimeMs: () => lifetimeMs,
      metrics,
      clock,
    });
  }

  /** @param name such as `pods`, `deploy` or `deployments.apps` @throws StatusError 404, or like a call of the caller */
  async get(name: string, { caller, signal }: ToolCall): Promise<ServedKind> {
    const kinds = await this.#kinds.get(callerKey(caller), signal, (shared) => this.#read(caller, shared));
    const found = kinds.find((kind) => isNamed(kind, name));
    if (found !== undefined) return found;
    throw new StatusError(404, 'NotFound', `the API server has no resource of the name "${name}"`);
  }

  async #read(caller: ToolCall['caller'], signal: AbortSignal): Promise<readonly ServedKind[]> {
    const client = this.#apiServer.asCaller(caller);
    const read = (path: string) =>
      client.request({ call: 'agents discovery', method: 'GET', path, accept, signal }).catch((error: unknown) => {
        throw pageAsOutage(error);
      });
    // The core group comes first, as for kubectl.
    return (await Promise.all([corePath, groupsPath].map(read))).flatMap(kindsIn);
  }
}

/** Returns the kinds of an answer, each in the first version of its group that has it. */
function kindsIn(answer: unknown): ServedKind[] {
  const kinds = new Map<string, ServedKind>();
  for (const { metadata, versions = [] } of readGroups(answer).items ?? [])
    for (const { version = '', resources = [] } of versions)
      for (const { resource = '', responseKind, scope, singularResource = '', shortNames = [] } of resources) {
        const group = metadata?.name ?? '';
        const key = `${resource}.${group}`;
        if (kinds.has(key)) continue;
        const kind = responseKind?.kind ?? '';
        const names = [resource, singularResource, kind, ...shortNames].map((name) => name.toLowerCase()).filter(Boolean);
        kinds.set(key, { type: { group, version, resource }, kind, isNamespaced: scope === 'Namespaced', names });
      }
  return [...kinds.values()];
}

/** Reports whether a kind has the name, which may have the group behind the first dot. */
function isNamed({ type: { group }, names }: ServedKind, given: string): boolean {
  const text = given.toLowerCase();
  return names.some((name) => text === name || (group !== '' && text === `${name}.${group}`));
}
