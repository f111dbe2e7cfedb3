import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { ClusterReads } from '../cluster.ts';
import { object as objectInput } from '../inputs.ts';
import type { Kinds } from '../kinds.ts';
import { type Tool, tool } from '../tool.ts';
import { partAt } from '../untrusted.ts';

export const getTool = (kinds: Kinds, reads: ClusterReads): Tool =>
  tool({
    name: 'get',
    title: 'Get an object',
    description: 'Gets an object as the API server has it, apart from Secrets. Use describe for its state.',
    isReadOnly: true,
    input: z.strictObject({
      ...objectInput,
      path: z.string().min(1).max(512).optional().describe('Part of the object, such as `spec.template.spec.containers[0]`. Default: all.'),
    }),
    async run({ resource: text, namespace: of, name: called, path }, call) {
      const kind = await kinds.get(text, call);
      const object = await reads.get(kind, { namespace: of, name: called }, call);
      if (path === undefined) return { note: 'The object, without managedFields.', data: { object } };
      const part = partAt(object, path);
      if (part === undefined) throw new StatusError(404, 'NotFound', 'the object has no such part');
      return { note: 'The part of the object.', data: { path, part } };
    },
  });
