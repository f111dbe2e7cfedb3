import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { render } from './chart.ts';

const run = promisify(execFile);

const testPod = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()) }),
  spec: z.object({
    containers: z.tuple([
      z.object({
        command: z.array(z.string()),
        args: z.array(z.string()),
        env: z.array(z.object({ name: z.string(), value: z.string() })),
      }),
    ]),
  }),
});

describe('the pod of helm test', () => {
  const server = forSuite(() => startServer({}));
  let pod: z.infer<typeof testPod>;
  before(async () => {
    pod = testPod.parse((await render()).find(({ kind }) => kind === 'Pod'));
  });

  /** Runs the command of the container, with other addresses of the Services. */
  const check = (differing: Record<string, string> = {}) => {
    const [{ command, args, env }] = pod.spec.containers;
    const [, ...options] = [...command, ...args];
    const given = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    return run(process.execPath, options, {
      env: { ...given, CONSOLE_URL: server.url, METRICS_URL: server.metricsURL, ...differing },
    });
  };
  const failure = (differing: Record<string, string>) =>
    check({ WAIT_SECONDS: '0', ...differing }).then(
      () => 'none',
      (error: unknown) => String(error),
    );

  it('is run by helm test only, and is deleted after success', () => {
    expect(pod.metadata.annotations).to.include({
      'helm.sh/hook': 'test',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    });
  });

  it('succeeds for a service of the chart’s version', async () => {
    const { stdout } = await check();

    expect(stdout.match(/^ok: /gm)).to.have.length(5);
    expect(pod.spec.containers[0].env).to.deep.include({ name: 'VERSION', value: packageJson.version });
  });

  it('fails for a foreign console, foreign metrics or another version', async () => {
    expect(await failure({ CONSOLE_URL: `${server.url}/elsewhere` })).to.include('the console is described');
    expect(await failure({ CONSOLE_URL: 'http://127.0.0.1:1' })).to.include('fetch failed');
    expect(await failure({ METRICS_URL: server.url })).to.match(/it is ready|its metrics are told/);
    expect(await failure({ VERSION: '99.0.0' })).to.include('it is the version of the chart');
  });
});
