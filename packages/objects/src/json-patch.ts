import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { notSupported } from './field-error.ts';
import { isRecord } from './reader.ts';
import { badRequest, invalid } from './status.ts';

export const jsonPatchType = 'application/json-patch+json';

/** Media types that all mean a merge patch, because no member that can be patched is a list. */
export const mergePatchTypes = ['application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json'] as const;

export const patchTypes = [...mergePatchTypes, jsonPatchType] as const;

const operations = ['add', 'replace', 'test'] as const;
const operation = z.object({ op: z.string(), path: z.string(), value: z.unknown().exactOptional() });

const jsonPatch = z.array(z.object({ op: z.enum(operations), path: z.string().regex(/^\//), value: z.unknown() })).describe('RFC 6902');

/**
 * Returns the schemas of a patch by media type, for the OpenAPI document.
 *
 * @param example a JSON Patch; converted to a merge patch, it is the example of the other types
 */
export function describedPatch(body: z.ZodType, example: z.input<typeof jsonPatch>): Readonly<Record<string, z.ZodType>> {
  const mergePatch = body.meta({ examples: [mergePatchOf(example, { group: '', kind: '' }).patch] });
  const listed = jsonPatch.meta({ examples: [example] });
  return Object.fromEntries(patchTypes.map((type) => [type, type === jsonPatchType ? listed : mergePatch]));
}

/** A condition of a patch. */
export interface PatchTest {
  path: readonly string[];
  value: unknown;
  /** Index of the operation. */
  index: number;
}

interface Kind {
  group: string;
  kind: string;
}

/**
 * Converts a JSON Patch (RFC 6902) to an equivalent merge patch (RFC 7396) and its tests.
 *
 * @throws StatusError 400 for an invalid JSON Patch, 422 for an unsupported operation
 */
export function mergePatchOf(body: unknown, { group, kind }: Kind): { patch: Record<string, unknown>; tests: PatchTest[] } {
  if (!Array.isArray(body)) throw badRequest('a JSON Patch must be an array of operations (RFC 6902)');
  const patch: Record<string, unknown> = {};
  const tests: PatchTest[] = [];
  body.forEach((item: unknown, index) => {
    const { success, data } = operation.safeParse(item);
    if (!success) throw badRequest(`operation ${index} of the JSON Patch must have op and path`);
    const { op, value } = data;
    if (!operations.some((known) => known === op))
      throw invalid({ group, kind, name: '' }, [notSupported(`[${index}].op`, op, operations)]);
    if (!('value' in data)) throw badRequest(`operation ${index} of the JSON Patch must have a value`);
    const path = segmentsOf(data.path, index);
    if (op === 'test') tests.push({ path, value, index });
    else place(patch, path, value);
  });
  return { patch, tests };
}

/**
 * Returns the value that a test compares, undefined if its path leads nowhere. Like the API server, takes a member that its object lacks for
 * null.
 */
const foundBy = (path: readonly string[], served: unknown): unknown =>
  path.reduce<unknown>((below, key, depth) => {
    if (Array.isArray(below)) return /^(?:0|[1-9]\d*)$/.test(key) ? below[Number(key)] : undefined;
    if (!isRecord(below)) return undefined;
    if (Object.hasOwn(below, key)) return below[key];
    return depth === path.length - 1 ? null : undefined;
  }, served);

/** @param served the object as callers see it; @throws StatusError 422 */
export function checkTests(served: unknown, tests: readonly PatchTest[], { group, kind, name }: Kind & { name: string }): void {
  const failed = tests.filter(({ path, value }) => !isDeepStrictEqual(foundBy(path, served), value));
  if (failed.length > 0)
    throw invalid(
      { group, kind, name },
      failed.map(({ index }) => ({ reason: 'FieldValueInvalid', message: 'the test does not hold', field: `[${index}]` })),
    );
}

/** Bound of a path in characters: names of annotations, the longest part of a path, have 317. */
const maxPath = 4096;
/** Bound of the segments of a path, like that of the levels of a body. */
const maxSegments = 100;

/** RFC 6901. */
function segmentsOf(pointer: string, index: number): string[] {
  if (pointer.length > maxPath) throw badRequest(`the path of operation ${index} is longer than ${maxPath} characters`);
  const [first, ...segments] = pointer.split('/', maxSegments + 2);
  if (first !== '' || segments.length === 0)
    throw badRequest(`the path of operation ${index} must be a JSON Pointer to a member (RFC 6901)`);
  if (segments.length > maxSegments) throw badRequest(`the path of operation ${index} is deeper than ${maxSegments} levels`);
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function place(patch: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let target = patch;
  for (const segment of path.slice(0, -1)) {
    const below = Object.hasOwn(target, segment) ? target[segment] : undefined;
    const next: Record<string, unknown> = isRecord(below) ? below : {};
    Object.defineProperty(target, segment, { value: next, enumerable: true, writable: true, configurable: true });
    target = next;
  }
  Object.defineProperty(target, path.at(-1) ?? '', { value, enumerable: true, writable: true, configurable: true });
}
