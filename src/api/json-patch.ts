import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { notSupported } from './field-error.ts';
import { isRecord } from './reader.ts';
import { badRequest, invalid } from './status.ts';

export const jsonPatchType = 'application/json-patch+json';

/** Media types of a merge patch where nothing that may be patched is a list, so that all of them are one. */
export const mergePatchTypes = ['application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json'] as const;

export const patchTypes = [...mergePatchTypes, jsonPatchType] as const;

const operations = ['add', 'replace', 'test'] as const;
const operation = z.object({ op: z.string(), path: z.string(), value: z.unknown().exactOptional() });

const jsonPatch = z.array(z.object({ op: z.enum(operations), path: z.string().regex(/^\//), value: z.unknown() })).describe('RFC 6902');

/**
 * For the OpenAPI document: a patch by media type.
 *
 * @param example a JSON Patch; as merge patch it is the example of the other types
 */
export function describedPatch(body: z.ZodType, example: z.input<typeof jsonPatch>): Readonly<Record<string, z.ZodType>> {
  const mergePatch = body.meta({ examples: [mergePatchOf(example, { group: '', kind: '' }).patch] });
  const listed = jsonPatch.meta({ examples: [example] });
  return Object.fromEntries(patchTypes.map((type) => [type, type === jsonPatchType ? listed : mergePatch]));
}

/** What must be so for the patch to be made. */
export interface PatchTest {
  path: readonly string[];
  value: unknown;
  /** Of the operation. */
  index: number;
}

interface Kind {
  group: string;
  kind: string;
}

/**
 * A JSON Patch (RFC 6902) as the merge patch (RFC 7396) that does the same, and what it wants to be so before.
 *
 * @throws StatusError 400 for what is no JSON Patch, 422 for an operation that is not offered
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

/** @param served the object as callers see it; @throws StatusError 422 */
export function checkTests(served: unknown, tests: readonly PatchTest[], { group, kind, name }: Kind & { name: string }): void {
  const failed = tests.filter(({ path, value }) => {
    const found = path.reduce<unknown>((below, key) => (isRecord(below) && Object.hasOwn(below, key) ? below[key] : undefined), served);
    return !isDeepStrictEqual(found, value);
  });
  if (failed.length > 0)
    throw invalid(
      { group, kind, name },
      failed.map(({ index }) => ({ reason: 'FieldValueInvalid', message: 'the test does not hold', field: `[${index}]` })),
    );
}

/** Most characters of a path: names of annotations, the longest part of one, have 317. */
const maxPath = 4096;
/** Most segments of a path, as of the levels of a body. */
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
