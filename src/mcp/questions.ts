import type { ResourceQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Kinds } from './kinds.ts';
import type { ToolCall } from './tool.ts';

interface Asked {
  readonly verb: string;
  /** `deployments.apps/scale` */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Returns the question in the terms of RBAC. A resource that the API server does not serve is taken as it is written. */
export async function questionOf(
  { verb, resource: text, namespace = '', name = '' }: Asked,
  kinds: Kinds,
  call: ToolCall,
): Promise<ResourceQuestion> {
  const [named = '', subresource = ''] = text.split('/');
  const { group, resource } = await kinds.get(named, call).then(
    ({ type }) => type,
    (error: unknown) => literal(named, error),
  );
  const question = { verb, group, resource, subresource, namespace, name };
  call.about({ apiGroup: group, resource, ...(namespace !== '' && { namespace }), ...(name !== '' && { name }) });
  return question;
}

/** @throws errors other than 404 */
function literal(text: string, error: unknown): { group: string; resource: string } {
  if (!(error instanceof StatusError) || error.status.code !== 404) throw error;
  const dot = text.indexOf('.');
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}
