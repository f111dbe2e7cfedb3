import { expect } from 'chai';
import { HonestLoad } from './honest-load.ts';
import type { Installation } from './installation.ts';
import { type Restart, rollingRestart } from './rolling-restart.ts';
import { installation } from './shared.ts';

const rounds = 2;
const perSecond = 100;

describe('a rolling restart', () => {
  let service: Installation;
  let load: HonestLoad;

  before(async () => {
    service = await installation();
    load = await HonestLoad.prepare(service);
  });
  after(() => load?.close());

  it(`loses none of ${perSecond} requests a second and breaks no login, ${rounds} times in a row`, async () => {
    const restarts: Restart[] = [];
    const { lost, kinds } = await load.during(
      async () => {
        for (let round = 0; round < rounds; round += 1) await rollingRestart(service, (restart) => restarts.push(restart));
      },
      { perSecond },
    );

    expect(lost).to.deep.equal([]);
    expect(restarts.map(({ code }) => code)).to.deep.equal(Array.from({ length: rounds * 2 }, () => 0));
    for (const { count } of Object.values(kinds)) expect(count).to.be.above(0);
  });

  it('ends open watches gracefully', async () => {
    const [replica] = service.replicas;
    if (replica === undefined) throw new Error('there is no replica');
    const watch = await fetch(`${replica.url}/apis/auth.platform.io/v1/users?watch=true`, {
      headers: { authorization: `Bearer ${service.token('admin')}` },
    });
    expect(watch.status).to.equal(200);
    const begun = Promise.withResolvers<void>();
    const read = async () => {
      let text = '';
      for await (const chunk of watch.body ?? []) {
        text += Buffer.from(chunk).toString();
        begun.resolve();
      }
      return text;
    };
    // An aborted stream gives an error instead of an end.
    const text = read().catch(String);
    await begun.promise;
    const code = await service.stopReplica(replica);
    await service.startReplica();

    expect(await text).to.match(/^(\{.*\}\n)+$/);
    expect(code).to.equal(0);
  });
});
