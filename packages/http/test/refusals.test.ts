import { ConcurrencyLimit } from '@atrium/http/limits/concurrency-limit.ts';
import { reportPlaces, reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore, Semaphore } from '@atrium/http/limits/semaphore.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { expect } from 'chai';

describe('the metric of refused work', () => {
  const bounds = { atOnce: 1, maxWaiting: 1, what: 'questions are waiting' };
  const { signal } = new AbortController();
  const refused = async (metrics: Metrics) =>
    Object.fromEntries(
      Array.from((await metrics.text()).matchAll(/^atrium_places_refused_total\{class="(\w+)"\} (\d+)$/gm), ([, name, count]) => [
        name,
        Number(count),
      ]),
    );

  it('counts refusals by class, also those of callers who have left', async () => {
    const metrics = new Metrics();
    const [mail, search] = [new Semaphore(bounds), new KeyedSemaphore(bounds)];
    reportPlaces(metrics, 'mail', mail);
    reportRefusals(metrics, 'search', search);
    expect(await refused(metrics)).to.deep.equal({ mail: 0, search: 0 });

    const held = Promise.withResolvers<void>();
    const ask = (run: (work: () => Promise<void>) => Promise<void>) => Promise.allSettled([1, 2, 3].map(() => run(() => held.promise)));
    const asked = [
      ask((work) => mail.run(work, signal)),
      ask((work) => search.run('ada', work, signal)),
      ask((work) => search.run('vera', work, signal)),
    ];
    held.resolve();
    await Promise.all(asked);

    expect(await refused(metrics)).to.deep.equal({ mail: 1, search: 2 });
    expect(search).to.include({ running: 0, waiting: 0 });
  });

  it('counts refusals of work that does not wait', async () => {
    const metrics = new Metrics();
    const limit = new ConcurrencyLimit({ maxEach: 1, what: 'simulations' });
    reportRefusals(metrics, 'simulations', limit);
    const end = limit.begin('ada');

    expect(() => limit.begin('ada')).to.throw('too many simulations are under way');
    end();
    limit.begin('ada')();

    expect(await refused(metrics)).to.deep.equal({ simulations: 1 });
  });
});
