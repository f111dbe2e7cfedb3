/** Patches: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7386), and strategic merge patches of built-in kinds. */
import { badRequest, entityTooLarge, StatusError } from '@atrium/objects/status.ts';
import { applyPatch, Pointer } from 'rfc6902';
import { z } from 'zod';
import { bodyFormatUnknown } from './exchange.ts';
import { isJsonObject, type JsonObject } from './objects.ts';
import type { ResourceType } from './resources.ts';
import { strategicMerged } from './strategic-patch.ts';

const maximumOperations = 10_000;

const path = z.string();
const operations = z.array(
  z.discriminatedUnion('op', [
    z.object({ op: z.literal('add'), path, value: z.unknown() }),
    z.object({ op: z.literal('replace'), path, value: z.unknown() }),
    z.object({ op: z.literal('test'), path, value: z.unknown() }),
    z.object({ op: z.literal('remove'), path }),
    z.object({ op: z.literal('move'), path, from: z.string() }),
    z.object({ op: z.literal('copy'), path, from: z.string() }),
  ]),
);

const jsonPatchType = 'application/json-patch+json';
const mergePatchType = 'application/merge-patch+json';
const strategicPatchType = 'application/strategic-merge-patch+json';
const applyPatchType = 'application/apply-patch+yaml';

const mediaTypeOf = (contentType = '') => contentType.split(';')[0]?.trim().toLowerCase() ?? '';

/** Reports whether the patch is a server-side apply. */
export const isApply = (contentType: string | undefined): boolean => mediaTypeOf(contentType) === applyPatchType;

/** Returns `current` as patched, without changing it. @throws StatusError 400, 413, 415 or 422 */
export function patchedObject(
  type: ResourceType,
  current: JsonObject,
  { contentType, text }: { contentType: string; text: string },
): JsonObject {
  const mediaType = mediaTypeOf(contentType);
  const accepted = [jsonPatchType, mergePatchType, ...(type.isCustom ? [] : [strategicPatchType]), applyPatchType];
  if (!accepted.includes(mediaType)) throw bodyFormatUnknown(accepted);
  const patch = parsed(text);
  if (mediaType === jsonPatchType) return jsonPatched(current, patch);
  if (!isJsonObject(patch)) throw badRequest('json: cannot unmarshal the patch into an object');
  if (mediaType === strategicPatchType) return structuredClone(strategicMerged(current, patch));
  const result = merged(copied(current), patch);
  if (!isJsonObject(result)) throw badRequest('the patch leaves no object');
  return result;
}

/** Returns a copy whose parts are changed separately, also those that are one object in the given one. */
const copied = (object: JsonObject) => JSON.parse(JSON.stringify(object)) as JsonObject;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StatusError(400, 'BadRequest', 'error decoding patch: invalid JSON', { cause });
  }
}

function jsonPatched(current: JsonObject, patch: unknown): JsonObject {
  const list = z.array(z.looseObject({})).safeParse(patch);
  if (!list.success) throw badRequest('error decoding patch: the body is not a list of operations');
  if (list.data.length > maximumOperations) {
    throw entityTooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${list.data.length}`,
    );
  }
  const parsedPatch = operations.safeParse(list.data);
  const document = copied(current);
  if (!parsedPatch.success || !parsedPatch.data.every((operation) => isApplied(document, operation))) {
    throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', { details: {} });
  }
  return document;
}

function isApplied(document: JsonObject, operation: z.infer<typeof operations>[number]): boolean {
  const [failure] = applyPatch(document, ['value' in operation ? { ...operation, value: operation.value } : operation]);
  if (failure === null || holdsWithout(document, operation)) return true;
  // Unlike RFC 6902, 4.3, upstream lets `replace` create a missing member.
  const mayAdd = failure?.name === 'MissingError' && operation.op === 'replace' && isJsonObject(parentOf(document, operation.path));
  return mayAdd && applyPatch(document, [{ ...operation, op: 'add', value: operation.value }])[0] === null;
}

/** Unlike RFC 6902, 4.6, upstream takes a member that its object lacks for null. */
function holdsWithout(document: JsonObject, operation: z.infer<typeof operations>[number]): boolean {
  if (operation.op !== 'test' || operation.value !== null) return false;
  const { parent, key } = Pointer.fromJSON(operation.path).evaluate(document);
  return isJsonObject(parent) && !Object.hasOwn(parent, key);
}

const parentOf = (document: JsonObject, pointer: string) => Pointer.fromJSON(pointer).evaluate(document).parent;

function merged(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result = isJsonObject(target) ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    // The member is a data property, so that a key `__proto__` is a key like any other.
    else
      Object.defineProperty(result, key, {
        value: merged(Object.hasOwn(result, key) ? result[key] : undefined, value),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return result;
}
