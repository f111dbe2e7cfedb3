import { runsAt } from '@atrium/embedded-cluster/workloads/cron.ts';
import { humanDuration } from '@atrium/objects/duration.ts';
import { podAmounts } from '@atrium/objects/pod-resources.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { nextRun, parseSchedule } from '@atrium/objects/schedule.ts';
import { expect } from 'chai';
import { since } from '../../../packages/embedded-cluster/src/age.ts';
import { askAuthority } from './authority.ts';
import { Dice, oddSchedules, schedule, zone } from './generated.ts';

const minuteMs = 60_000;

describe('schedules beside the cron library of kube-controller-manager', () => {
  const dice = new Dice(53);
  // Clocks go forward and back around some of these times.
  const after = () => {
    const start = dice.pick(
      Date.UTC(2026, 2, 28),
      Date.UTC(2026, 9, 24),
      Date.UTC(2026, 10, 1),
      Date.UTC(2026, 3, 4),
      Date.UTC(2028, 1, 28),
    );
    return new Date(start + dice.below(3 * 24 * 3600) * 1000).toISOString();
  };
  const random = Array.from({ length: 600 }, () => schedule(dice));
  const questions = [...random, ...oddSchedules].map((text) => ({ about: 'schedule', text, after: after(), zone: zone(dice) }) as const);

  it('run next at the same time in the console, or are refused by both', async () => {
    const answers = await askAuthority(questions);
    const differences = questions.flatMap((question, index) => {
      const { text, zone } = question;
      const parsed = parseSchedule(text);
      const next = parsed && nextRun(parsed, new Date(question.after), zone);
      const ours = parsed === undefined ? 'refused' : (next?.toISOString().replace('.000Z', 'Z') ?? '');
      const { value = '', error = '' } = answers[index] ?? {};
      const theirs = error === '' ? value : 'refused';
      return ours === theirs ? [] : [`${text} in ${zone} after ${question.after}: ${ours} instead of ${theirs} ${error}`];
    });
    expect(differences.join('\n')).to.equal('');
  });

  it('run at the same minutes in the embedded cluster, or are refused by both', async () => {
    const answers = await askAuthority(questions);
    const differences = questions.flatMap((question, index) => {
      const { text, zone } = question;
      const { value = '', error = '' } = answers[index] ?? {};
      if ((parseSchedule(text) === undefined) !== (error !== '')) return [`${text} ${error || 'is refused'}`];
      if (value === '') return [];
      const [from, next] = [new Date(question.after).getTime(), new Date(value).getTime()];
      const first = Math.floor(from / minuteMs + 1) * minuteMs;
      const between = Array.from({ length: 20 }, () => first + dice.below((next - first) / minuteMs) * minuteMs);
      const early = between.find((time) => time < next && runsAt(text, new Date(time), zone));
      const wrong = early ?? (runsAt(text, new Date(next), zone) ? undefined : next);
      return wrong === undefined ? [] : [`${text} in ${zone} at ${new Date(wrong).toISOString()}, next ${value}`];
    });
    expect(differences.join('\n')).to.equal('');
  });
});

describe('ages beside HumanDuration of apimachinery', () => {
  const dice = new Dice(54);
  const units = [1, 60, 3600, 86_400, 365 * 86_400];
  const near = units.flatMap((unit) => [2, 3, 8, 10, 120, 180].flatMap((count) => [-1, 0, 1].map((more) => count * unit + more)));
  const random = Array.from({ length: 300 }, () => Math.round(10 ** (dice.below(90_000) / 10_000)));

  it('are the same in the console and in the embedded cluster', async () => {
    const all = [-3, -2, -1, 0, 0.4, 1.9, ...near, ...random];
    const answers = await askAuthority(all.map((seconds) => ({ about: 'age', seconds })));
    const now = new Date('2026-11-28T18:00:00Z');
    for (const [index, seconds] of all.entries()) {
      const theirs = answers[index]?.value;
      expect(humanDuration(seconds), `${seconds}`).to.equal(theirs);
      expect(since(new Date(now.getTime() - seconds * 1000).toISOString(), now), `${seconds}`).to.equal(theirs);
    }
  });
});

describe('quantities beside resource.Quantity of apimachinery', () => {
  const dice = new Dice(55);
  const suffixes = [
    '',
    '',
    'n',
    'u',
    'm',
    'k',
    'M',
    'G',
    'T',
    'P',
    'E',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'Pi',
    'Ei',
    'e3',
    'E3',
    'e-3',
    'e+2',
  ] as const;
  const number = () => `${dice.below(5000)}${dice.is(0.3) ? `.${dice.below(1000)}` : ''}`;
  const random = Array.from({ length: 300 }, () => `${dice.pick('', '', '', '-', '+')}${number()}${dice.pick(...suffixes)}`);
  const odd = [
    ...[
      '',
      ' ',
      '1 ',
      ' 1',
      '1K',
      '1ki',
      '1KI',
      '1kI',
      '1mi',
      '1g',
      '1U',
      '1N',
      '1e',
      '1E',
      '1e1.5',
      '1ee3',
      '1.',
      '.5',
      '.',
      '-',
      '+',
      '--1',
      '1,5',
    ],
    ...[
      '1_000',
      '0x10',
      'Inf',
      'NaN',
      '1Gib',
      'Gi',
      '1 Gi',
      '١',
      '00012',
      '0.0000000001',
      '1e400',
      '9999999999999999999',
      '1e-12',
      '-0',
      '+.5m',
    ],
  ];

  it('have the same value, or are refused by both', async () => {
    const texts = [...random, ...odd];
    const answers = await askAuthority(texts.map((text) => ({ about: 'quantity', text })));
    const isClose = (ours: number | undefined, theirs: string | undefined) => {
      if (ours === undefined || theirs === undefined) return ours === theirs;
      return Math.abs(ours - Number(theirs)) <= Math.abs(Number(theirs)) * 1e-9 + 1e-9;
    };
    const differences = texts.flatMap((text, index) => {
      const { value, error } = answers[index] ?? {};
      const theirs = error === '' ? value : undefined;
      // Decision 403: Go bounds Ei by an int64, and takes a text without digits as zero.
      const isBounded = /^-?9223372036854775807$/.test(theirs ?? '') && text.endsWith('Ei');
      if (isBounded || (theirs !== undefined && !/\d/.test(text)) || text === '1e400') return [];
      return isClose(quantityOf(text), theirs) ? [] : [`${JSON.stringify(text)}: ${quantityOf(text)} instead of ${theirs} ${error}`];
    });
    expect(differences.join('\n')).to.equal('');
  });
});

describe('requests and limits of pods beside PodRequests and PodLimits of component-helpers', () => {
  const dice = new Dice(56);
  const amounts = (...names: readonly string[]) =>
    dice.some(
      Object.fromEntries(names.map((name) => [name, name === 'cpu' ? dice.pick('0', '100m', '250m', '1', '2.5') : `${dice.below(900)}Mi`])),
      0.7,
    );
  const resources = (...names: readonly string[]) => dice.some({ requests: amounts(...names), limits: amounts(...names) }, 0.8);
  const container = (name: string) => ({ name, resources: resources('cpu', 'memory', 'ephemeral-storage', 'example.com/gpu') });
  const status = ({ name }: { name: string }) => ({
    name,
    ...dice.some({ resources: resources('cpu', 'memory'), allocatedResources: amounts('cpu', 'memory') }, 0.6),
  });
  const pod = () => {
    const initContainers = Array.from({ length: dice.below(4) }, (_, at) => ({
      ...container(`init-${at}`),
      ...dice.some({ restartPolicy: 'Always' }),
    }));
    const containers = Array.from({ length: 1 + dice.below(3) }, (_, at) => container(`main-${at}`));
    const resizing = { type: 'PodResizePending', status: 'True', reason: dice.pick('Infeasible', 'Deferred') };
    return {
      spec: {
        initContainers,
        containers,
        ...dice.some({ resources: resources('cpu', 'memory'), overhead: amounts('cpu', 'memory') }, 0.3),
      },
      ...dice.some({
        status: {
          ...{ initContainerStatuses: initContainers.map(status), containerStatuses: containers.map(status) },
          ...dice.some({ conditions: [resizing] }),
        },
      }),
    };
  };

  it('are the same, also of sidecars and of pods that are being resized (headlamp 7678)', async () => {
    const pods = Array.from({ length: 600 }, pod);
    const answers = await askAuthority(pods.map((object) => ({ about: 'amounts', object })));
    const differences = pods.flatMap((object, index) => {
      const { value = '', error } = answers[index] ?? {};
      expect(error).to.equal('');
      const theirs = JSON.parse(value) as Record<'requests' | 'limits', Record<string, string>>;
      return (['requests', 'limits'] as const).flatMap((bound) => {
        const ours = podAmounts(object, bound);
        const names = new Set([...Object.keys(ours), ...Object.keys(theirs[bound])]);
        const isSame = [...names].every((name) => Math.abs((ours[name] ?? 0) - Number(theirs[bound][name] ?? 0)) < 1e-6);
        return isSame ? [] : [`${bound} ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs[bound])} of ${JSON.stringify(object)}`];
      });
    });
    expect(differences.join('\n')).to.equal('');
  });
});
