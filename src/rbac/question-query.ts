import { z } from 'zod';

/** Word of an RBAC rule; `*` asks for the right to all. */
const word = (what: string, example: string) =>
  z
    .string()
    .max(253)
    .regex(/^[^\s/]+$/, `must be ${what}, such as ${example}`);

/** Query parameters of a question about a right, without its place. */
export const questionQuery = {
  verb: word('a verb', 'list').describe('Verb of the action: `get`, `list`, `create`, …'),
  resource: word('the plural of a resource, without its group', 'pods').describe('Plural of the resource: `pods`, `deployments`, …'),
  group: z
    .string()
    .max(253)
    .regex(/^[^\s/]*$/, 'must be an API group without a version, such as apps')
    .default('')
    .describe('API group of the resource; empty: the core group.'),
  subresource: z
    .string()
    .max(253)
    .regex(/^\S*$/, 'must be a subresource, such as log')
    .default('')
    .describe('Subresource: `log`, `scale`, …'),
};
