/** Facts that `kubectl describe` and the pages of the console both state. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { kubectl } from '../../support/kubectl.ts';
import { described } from './described.ts';
import { startClusterConsole } from './support.ts';

/** Text of `kubectl describe`. */
class Description {
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.#lines = text.split('\n');
  }

  /** Returns the values of a key, at any depth. `<none>`, `<unset>` and nothing are no values. */
  all(key: string): string[] {
    const found = this.#lines.flatMap((line) => {
      const [, name, value = ''] = /^\s*([^:]+?):\s*(.*?)\s*$/.exec(line) ?? [];
      return name === key ? [value] : [];
    });
    return found.filter((value) => !/^(?:<none>|<unset>|)$/.test(value));
  }

  one(key: string): string | undefined {
    return this.all(key)[0];
  }

  /** Returns the lines of a block, without indentation. */
  block(key: string): string[] {
    const start = this.#lines.findIndex((line) => line.startsWith(`${key}:`));
    const end = this.#lines.findIndex((line, index) => index > start && /^\S/.test(line));
    return this.#lines.slice(start, end).map((line, index) => (index === 0 ? line.slice(key.length + 1) : line).trim());
  }
}

/** Names and values of a page, in order. */
type Facts = readonly (readonly [string, string])[];

/** A fact of a page with the values that `kubectl describe` has for it. */
type Row = readonly [name: string, values: readonly (string | undefined)[]];

const inSeconds = (text: string | undefined) => text?.replace(/(\d+)m(?:(\d+)s)?$/, (_, m, s = 0) => `${Number(m) * 60 + Number(s)}s`);
const seconds = (text: string | undefined) => (text === undefined ? undefined : `${Number.parseInt(text, 10)}s`);
const yes = (text: string | undefined) => (text?.toLowerCase() === 'true' ? 'Yes' : 'No');
const modes: Readonly<Record<string, string>> = { RWO: 'ReadWriteOnce', ROX: 'ReadOnlyMany', RWX: 'ReadWriteMany' };

const rows: Readonly<Record<string, { place: string; of: (text: Description) => Row[] }>> = {
  Pod: {
    place: 'core/v1/pods',
    of: (text) => [
      ['Node', [text.one('Node')?.split('/')[0]]],
      ['IP', [text.all('IP').slice(1).join(', ') || undefined]],
      ['QoS class', [text.one('QoS Class')]],
      ['Service account', [text.one('Service Account')]],
      ['Priority class', [text.one('Priority Class Name')]],
      ['Image', text.all('Image')],
      [
        'Ready',
        text
          .all('Ready')
          .filter((value) => /^(?:True|False)$/.test(value))
          .map(yes),
      ],
      ['Restarts', text.all('Restart Count')],
    ],
  },
  Deployment: {
    place: 'apps/v1/deployments',
    of(text) {
      const [wanted, updated, , available] = text.one('Replicas')?.match(/\d+/g) ?? [];
      const [unavailable, surge] = text.one('RollingUpdateStrategy')?.match(/\d+%?/g) ?? [];
      const strategy = text.one('StrategyType');
      return [
        ['Updated', [`${updated} of ${wanted}`]],
        ['Available', [`${available} of ${wanted}`]],
        ['Strategy', [surge === undefined ? strategy : `${strategy} (maxUnavailable ${unavailable}, maxSurge ${surge})`]],
        ['Selector', [text.one('Selector')]],
        ['Minimum ready time', [text.one('MinReadySeconds') === '0' ? undefined : seconds(text.one('MinReadySeconds'))]],
        ['Image', text.all('Image')],
        ['Service account', [text.one('Service Account')]],
      ];
    },
  },
  Node: {
    place: 'core/v1/nodes',
    of: (text) => [
      ['Scheduling', [text.one('Unschedulable') === 'true' ? 'Cordoned: accepts no new pods' : 'Accepts new pods']],
      [
        'Addresses',
        [
          text
            .block('Addresses')
            .slice(1)
            .map((line) => line.replace(/:\s+/, ' '))
            .join(', ') || undefined,
        ],
      ],
      [
        'Taints',
        [
          text
            .block('Taints')
            .filter((taint) => taint !== '<none>')
            .join('\n') || undefined,
        ],
      ],
      ['Kubelet', [text.one('Kubelet Version')]],
      ['Container runtime', [text.one('Container Runtime Version')]],
      ['Pod CIDR', [text.one('PodCIDR')]],
    ],
  },
  Job: {
    place: 'batch/v1/jobs',
    of(text) {
      const [, active, , succeeded, failed] =
        /(\d+) Active (?:\((\d+) Ready\) )?\/ (\d+) Succeeded \/ (\d+) Failed/.exec(text.one('Pods Statuses') ?? '') ?? [];
      const [parallelism, wanted] = [text.one('Parallelism'), text.one('Completions')];
      return [
        ['Completions', [wanted === undefined ? `${succeeded} of 1, by any of ${parallelism} pods` : `${succeeded} of ${wanted}`]],
        ['Completed indexes', [text.one('Completed Indexes')]],
        ['Suspended', [text.one('Suspend') === 'true' ? 'Yes' : undefined]],
        ['Running pods', [active]],
        ['Failed pods', [failed]],
        ['Parallelism', [parallelism]],
        ['Completion mode', [text.one('Completion Mode') === 'Indexed' ? 'Indexed' : undefined]],
        ['Backoff limit', [text.one('Backoff Limit')]],
        ['Active deadline', [seconds(text.one('Active Deadline Seconds'))]],
        ['TTL after finished', [seconds(text.one('TTL Seconds After Finished'))]],
      ];
    },
  },
  CronJob: {
    place: 'batch/v1/cronjobs',
    of: (text) => [
      ['Schedule', [text.one('Schedule')]],
      ['Time zone', [text.one('Time Zone') ?? 'the zone of kube-controller-manager']],
      ['Next run', [text.one('Suspend') === 'True' ? 'suspended' : undefined]],
      ['Concurrency', [text.one('Concurrency Policy')]],
      ['Starting deadline', [seconds(text.one('Starting Deadline Seconds'))]],
      ['Successful Jobs kept', [text.one('Successful Job History Limit')]],
      ['Failed Jobs kept', [text.one('Failed Job History Limit')]],
      ['Last run', [text.one('Last Schedule Time') ? '10 months ago' : 'Never']],
    ],
  },
  PersistentVolumeClaim: {
    place: 'core/v1/persistentvolumeclaims',
    of(text) {
      const status = text.one('Access Modes');
      return [
        ['Storage class', [text.one('StorageClass')]],
        ['Volume', [text.one('Volume')]],
        ['Capacity', [text.one('Capacity') ?? 'Unknown until the claim is bound']],
        // The page shows the requested modes before a claim is bound. `kubectl describe` shows none.
        ...(status === undefined
          ? []
          : [
              [
                'Access modes',
                [
                  status
                    .split(',')
                    .map((mode) => modes[mode])
                    .join(', '),
                ],
              ] as const,
            ]),
        ['Volume mode', [text.one('VolumeMode')]],
      ];
    },
  },
  Service: {
    place: 'core/v1/services',
    of: (text) => [
      ['Type', [text.one('Type')]],
      ['Cluster IP', [text.one('IP') === 'None' ? 'None (headless)' : text.one('IP')]],
      ['External IPs', [text.one('External IPs')]],
      ['External name', [text.one('External Name')]],
      ['Load balancer', [text.one('LoadBalancer Ingress')?.replace(' (VIP)', '')]],
      ['Session affinity', [text.one('Session Affinity')]],
      ['Selector', [text.one('Selector')]],
    ],
  },
};

/** Words that the page adds to a value. */
const plain = (name: string, value: string): string => {
  if (name === 'Schedule') return value.replace(/^.* (?=\S+ \S+ \S+ \S+ \S+$|@\w+$)/, '');
  return name === 'Active deadline' || name === 'TTL after finished' || name === 'Starting deadline' ? (inSeconds(value) ?? '') : value;
};

describe('the page of an object beside kubectl describe', () => {
  const suite = forSuite(startClusterConsole);
  before(() => suite.login.admin.apply(...described));

  async function describeByKubectl(kind: string, { name, namespace }: { name?: unknown; namespace?: unknown }): Promise<Description> {
    const target = { url: suite.login.cluster.url, caFile: suite.login.caFile, token: await suite.login.cluster.token('admin') };
    const { isDone, stdout, stderr } = await kubectl(
      target,
      'describe',
      kind,
      `${name}`,
      ...(namespace ? ['--namespace', `${namespace}`] : []),
    );
    expect(isDone, stderr).to.equal(true);
    return new Description(stdout);
  }

  async function openPage(place: string, { name, namespace }: { name?: unknown; namespace?: unknown }): Promise<Page> {
    const page = await suite.open('admin', `/r/${place}/${namespace ? `ns/${namespace}/` : ''}${name}`);
    await page.getByText('UID', { exact: true }).waitFor();
    return page;
  }

  const factsOf = async (page: Page): Promise<Facts> => {
    const [names, values] = await Promise.all(['dt', 'dd'].map((tag) => page.locator(`main dl ${tag}`).allInnerTexts()));
    return (names ?? []).map((name, index) => [name.trim(), (values?.[index] ?? '').trim()] as const);
  };

  for (const [kind, { place, of }] of Object.entries(rows))
    it(`states the same facts of ${place}`, async () => {
      const differences: string[] = [];
      for (const { metadata } of described.filter((object) => object.kind === kind)) {
        const text = await describeByKubectl(kind, metadata);
        const facts = await factsOf(await openPage(place, metadata));
        for (const [name, values] of of(text)) {
          const theirs = values.filter((value) => value !== undefined).toSorted();
          const ours = facts.flatMap(([one, value]) => (one === name ? [plain(name, value)] : [])).toSorted();
          if (`${ours}` !== `${theirs}`)
            differences.push(`${metadata.name}, ${name}: ${ours.join(' | ')} instead of ${theirs.join(' | ')}`);
        }
      }
      expect(differences.join('\n')).to.equal('');
    });

  it('shares the resources of a node in the same percentages', async () => {
    const node = { name: 'described-1' };
    const text = await describeByKubectl('Node', node);
    const page = await openPage('core/v1/nodes', node);
    for (const resource of ['cpu', 'memory', 'ephemeral-storage']) {
      const [, requested, share] =
        /^\S+\s+(\S+) \((\d+)%\)/.exec(text.block('Allocated resources').find((line) => line.startsWith(`${resource} `)) ?? '') ?? [];
      const row = page.getByRole('row').filter({ has: page.getByRole('cell', { name: resource, exact: true }) });
      // The pods of the node come after the node.
      const cells = await eventually(
        () => row.innerText(),
        (shown) => shown.includes('%'),
      );
      expect(cells.replaceAll(/\s+/g, ' ')).to.contain(`${requested} · ${share} %`);
    }
  });

  it('states no state of a container without a reported state', async () => {
    const page = await openPage('core/v1/pods', { name: 'evicted', namespace: 'described' });
    expect((await describeByKubectl('Pod', { name: 'evicted', namespace: 'described' })).all('State')).to.deep.equal([]);
    expect(await page.getByRole('article', { name: 'main' }).getByText('Waiting').count()).to.equal(0);
  });
});
