/** Settings of the door for agents (Model Context Protocol). */
import { hash } from 'node:crypto';
import { qualified } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { dnsLabel } from './units.ts';

const rule = z.strictObject({
  namespaces: z.array(dnsLabel()).min(1).max(100).describe('Namespaces of the objects.'),
  verbs: z
    .array(z.enum(['create', 'patch', 'delete']))
    .min(1)
    .describe('Kinds of changes.'),
  resources: z
    .array(z.string().regex(/^[a-z0-9]{1,63}(?:\.[a-z0-9.-]{1,253})?$/, 'must be a resource such as configmaps or deployments.apps'))
    .min(1)
    .max(100)
    .describe('Resources in the plural, with their group: `configmaps`, `deployments.apps`.'),
});

type DirectRule = z.output<typeof rule>;

export const mcpSection = z.strictObject({
  writes: z
    .enum(['propose', 'direct'])
    .default('propose')
    .describe('`propose`: users confirm each change of an agent. `direct`: agents make the changes of `mcp.direct` without that.'),
  direct: z
    .array(rule)
    .max(20)
    .default([])
    .describe('Changes that agents make at once, for users who have allowed it on the page of the embedded issuer.'),
});

/** Returns what sessions of agents keep of the rules that their user has allowed; undefined without rules. */
export const directDigest = (rules: readonly DirectRule[]): string | undefined =>
  rules.length === 0 ? undefined : hash('sha256', JSON.stringify(rules));

/** Reports whether the rules have a change of an object. Objects without a namespace are in none. */
export const isDirect = (rules: readonly DirectRule[], { verb, apiGroup, resource, namespace = '' }: ProposedChange): boolean =>
  rules.some(
    ({ namespaces, verbs, resources }) =>
      namespaces.includes(namespace) && verbs.some((one) => one === verb) && resources.includes(qualified({ group: apiGroup, resource })),
  );

interface ProposedChange {
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
}
