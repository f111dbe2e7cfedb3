/** Resources of the cluster by the names that kubectl takes. */
import { type ExecFileException, execFile } from 'node:child_process';
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
  const { resources, failure } = await resourcesOfKubectl(context, terminal);
  const found = resources.find(({ names }) => names.includes(name.toLowerCase()));
  if (found !== undefined) return { resource: found.resource, group: found.group };
  const why = failure === undefined ? 'kubectl lists no such resource' : `kubectl did not list all resources (${harmless(failure)})`;
  throw new CommandError(
    `the API group of ${harmless(name)} is unknown, as ${why}: write RESOURCE.GROUP, or "RESOURCE." for the core group`,
  );
}

/** Result of execFile. A failure has what was printed before it. */
interface Listed {
  stdout: string;
  failure?: string;
}

const timeoutMs = 10_000;

/** Returns the resources in the order of kubectl. A failure tells why some or all are missing: kubectl prints those of groups that answer. */
async function resourcesOfKubectl(context: string | undefined, { environment, signal }: Terminal) {
  const args = ['api-resources', '--cached', '--no-headers', ...(context === undefined ? [] : [`--context=${context}`])];
  const run = promisify(execFile);
  const { stdout, failure }: Listed = await run('kubectl', args, { env: { ...environment }, timeout: timeoutMs, signal }).catch(
    (error: ExecFileException) => {
      signal.throwIfAborted();
      return { stdout: error.stdout ?? '', failure: failureOf(error) };
    },
  );
  const resources = stdout.split('\n').flatMap((line) => {
    // Columns: NAME, SHORTNAMES (may be empty), APIVERSION, NAMESPACED, KIND.
    const columns = line.trim().split(/\s+/);
    const [resource = '', version = '', kind = ''] = [columns[0], columns.at(-3), columns.at(-1)];
    if (columns.length < 4) return [];
    const short = columns.length > 4 ? (columns[1] ?? '').split(',') : [];
    return [
      { resource, group: version.includes('/') ? (version.split('/')[0] ?? '') : '', names: [resource, kind.toLowerCase(), ...short] },
    ];
  });
  return { resources, failure };
}

const failureOf = ({ code, killed, stderr, message }: ExecFileException): string => {
  if (code === 'ENOENT') return 'kubectl was not found';
  if (killed) return `no answer in ${timeoutMs / 1000} s`;
  return stderr?.trim().split('\n').at(-1) || message;
};
