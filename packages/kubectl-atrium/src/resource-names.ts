/** Resources of the cluster by the names that kubectl takes. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CommandError, harmless, type Terminal } from './terminal.ts';

export interface ResourceName {
  resource: string;
  /** Empty for the core group. */
  group: string;
}

/** Returns the resource that `deployments.apps`, `deployments`, `deployment` or `deploy` names. @throws CommandError for an unknown name */
export async function resourceNamed(name: string, context: string | undefined, terminal: Terminal): Promise<ResourceName> {
  const at = name.indexOf('.');
  if (at >= 0) return { resource: name.slice(0, at), group: name.slice(at + 1) };
  const found = (await resourcesOfKubectl(context, terminal)).find(({ names }) => names.includes(name.toLowerCase()));
  if (found === undefined)
    throw new CommandError(`the API group of ${harmless(name)} is unknown: write RESOURCE.GROUP, or "RESOURCE." for the core group`);
  return { resource: found.resource, group: found.group };
}

/** Returns the resources in the order of kubectl; none where kubectl does not answer. */
async function resourcesOfKubectl(context: string | undefined, { environment, signal }: Terminal) {
  const args = ['api-resources', '--cached', '--no-headers', ...(context === undefined ? [] : [`--context=${context}`])];
  const run = promisify(execFile);
  const { stdout } = await run('kubectl', args, { env: { ...environment }, timeout: 10_000, signal }).catch(() => ({ stdout: '' }));
  return stdout.split('\n').flatMap((line) => {
    // Columns: NAME, SHORTNAMES (may be empty), APIVERSION, NAMESPACED, KIND.
    const columns = line.trim().split(/\s+/);
    const [resource = '', version = '', kind = ''] = [columns[0], columns.at(-3), columns.at(-1)];
    if (columns.length < 4) return [];
    const short = columns.length > 4 ? (columns[1] ?? '').split(',') : [];
    return [
      { resource, group: version.includes('/') ? (version.split('/')[0] ?? '') : '', names: [resource, kind.toLowerCase(), ...short] },
    ];
  });
}
