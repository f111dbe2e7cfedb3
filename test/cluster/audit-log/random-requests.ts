/** Random requests at the door: ordinary writes, and others that the API server refuses in many ways. */

/** Users who send nothing past the door. */
export const users = ['manager', 'alice', 'bob', 'carol'] as const;

export interface RandomRequest {
  path: string;
  method: string;
  body?: unknown;
  as: (typeof users)[number];
  /** The sender uses an access token, with which the service acts as the user. */
  hasAccessToken: boolean;
  /** The sender leaves before the answer. */
  isAborted: boolean;
  isUpgrade: boolean;
  agent: string;
  /** Media types of the answer. */
  accept: string;
  /** User as whom the request is made. */
  viewed: string | undefined;
  isViewWrite: boolean;
}

/** Kinds of resources that the requests name. */
const kinds = {
  configmaps: 'ConfigMap',
  secrets: 'Secret',
  serviceaccounts: 'ServiceAccount',
  crontabs: 'CronTab',
  groups: 'Group',
  clusterroles: 'ClusterRole',
};

/** A pod in `default` that runs on a node. */
export const runningPod = 'shell';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export function randomRequests(random: () => number): () => RandomRequest {
  const oneOf = <T>(values: readonly [T, ...T[]]): T => values[Math.floor(random() * values.length)] ?? values[0];
  const oneName = () => oneOf(['a', 'b', 'c']);

  function ordinaryPath(method: string): string {
    const list = oneOf([
      `/api/v1/namespaces/shop/${oneOf(['configmaps', 'secrets', 'serviceaccounts'])}`,
      '/apis/example.com/v1/namespaces/shop/crontabs',
      '/apis/auth.platform.io/v1/groups',
    ]);
    return method === 'POST' ? list : `${list}/${oneName()}`;
  }

  function anyPath(): string {
    const namespace = oneOf(['default', 'shop', 'none']);
    const name = oneOf(['a', 'b', 'c', 'x'.repeat(253), 'Not%20A%20Name', '%E2%80%AEtxt', '']);
    const [object, named] = [name && `/${name}`, name || 'a'];
    const opened = oneOf(['exec', 'attach', 'log', 'eviction', 'portforward']);
    const opens = oneOf([
      'exec?command=cat&container=main&stdin=true',
      'exec?command=true&container=main&stdout=true',
      'portforward?ports=80',
    ]);
    return oneOf([
      `/api/v1/namespaces/default/pods/${runningPod}/${opens}`,
      `/api/v1/namespaces/${namespace}/${oneOf(['configmaps', 'secrets', 'serviceaccounts', 'pods', 'nothings'])}${object}`,
      // A deletion of all would take the rights of the users.
      `/apis/rbac.authorization.k8s.io/v1/clusterroles/${named}`,
      `/apis/example.com/v1/namespaces/${namespace}/crontabs${object}`,
      `/apis/auth.platform.io/v1/groups${object}`,
      `/api/v1/namespaces${object}`,
      `/apis/apps/v1/namespaces/${namespace}/deployments/${named}/scale`,
      `/api/v1/namespaces/${namespace}/pods/${named}/${opened}?command=ls&container=app`,
    ]);
  }

  function bodyFor(path: string): unknown {
    const kind = Object.entries(kinds).find(([plural]) => path.includes(`/${plural}`))?.[1] ?? 'ConfigMap';
    const apiVersion = /^\/apis\/([^/]+\/[^/]+)/.exec(path)?.[1] ?? 'v1';
    const last = path.split('/').at(-1) ?? '';
    const named = { apiVersion, kind, metadata: { name: /^[abc]$/.test(last) ? last : oneName() } };
    return oneOf<unknown>([
      named,
      named,
      { metadata: { labels: { a: oneOf(['b', 'c']) } } },
      { apiVersion, kind, metadata: { generateName: 'some-' } },
      { data: { a: String(random()) } },
      'no JSON',
      { ...named, data: { a: 'x'.repeat(20_000) } },
      { ...named, data: { a: 'x'.repeat(100_000) } },
    ]);
  }

  /** Returns the options of a deletion, which may ask for a dry run otherwise than the query. */
  const someOptions = () => ({ apiVersion: 'v1', kind: 'DeleteOptions', ...(random() < 0.5 && { dryRun: ['All'] }) });

  return () => {
    const method = oneOf(methods);
    const path = random() < 0.5 ? ordinaryPath(method) : anyPath();
    const dryRun = random() < 0.1 ? `${path.includes('?') ? '&' : '?'}dryRun=All` : '';
    return {
      path: `/api/kubernetes${path}${dryRun}`,
      method,
      ...(method !== 'GET' && { body: method === 'DELETE' && random() < 0.5 ? someOptions() : bodyFor(path) }),
      as: oneOf<(typeof users)[number]>(['manager', 'manager', ...users]),
      hasAccessToken: random() < 0.2,
      isAborted: random() < 0.05,
      isUpgrade: method === 'GET' && /exec|attach|portforward/.test(path),
      accept: oneOf(['*/*', 'application/vnd.kubernetes.protobuf,application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io']),
      agent: oneOf(['kubectl', '"},{"x":"', '<script>', '=1+1']),
      viewed: random() < 0.15 ? oneOf(['alice', 'bob', 'nobody']) : undefined,
      isViewWrite: random() < 0.8,
    };
  };
}
