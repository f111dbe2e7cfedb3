/**
 * Measures well-behaved clients while others misuse the service: 1,050 connections that read no answers, one connection that pipelines
 * 1,200 requests behind three answers that it does not read, and 40 connections that repeatedly pipeline 200 requests each. Meanwhile, 20
 * clients send one request each 50 ms; their answers are compared with those of an idle service. The abusers and the clients are processes
 * of their own. Each case takes some seconds. Run: node bench/unread-answers.ts
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { App } from '../src/app.ts';
import { parseConfig } from '../src/config/load.ts';

const clients = 20;
const pauseMs = 50;
const caseMs = 4_000;
const [role, portText = '', kind = ''] = process.argv.slice(2);
const port = Number(portText);

const head = 'Host: 127.0.0.1\r\n\r\n';
const small = `GET /api/v1/i18n/languages HTTP/1.1\r\n${head}`;
const large = `GET /docs/swagger-ui-bundle.js HTTP/1.1\r\n${head}`;

const abuses: Record<string, () => void> = {
  quiet: () => undefined,
  'one pipeline that reads nothing': () => open(large.repeat(3) + small.repeat(1_200)).pause(),
  '1,050 connections that read nothing': () => {
    for (let index = 0; index < 1_050; index += 1) open(large.repeat(3)).pause();
  },
  '40 pipelines of 200': () => {
    for (let index = 0; index < 40; index += 1) pipelineAgain();
  },
};

function open(text: string) {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write(text);
  return socket;
}

/** Sends the next 200 requests when the answers to the previous ones have arrived. */
function pipelineAgain(): void {
  const socket = open(small.repeat(200));
  let answers = 0;
  socket.setEncoding('latin1').on('data', (text: string) => {
    answers += text.split('HTTP/1.1 ').length - 1;
    if (answers < 200) return;
    answers = 0;
    socket.write(small.repeat(200));
  });
}

/** Reports the milliseconds of each answer, and the number of failures. */
async function behave(): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  let refused = 0;
  const ask = async () => {
    const started = performance.now();
    const [answer] = await once(get({ port, host: '127.0.0.1', path: '/api/v1/i18n/languages', agent }), 'response');
    await answer.resume().toArray();
    times.push(performance.now() - started);
    if (answer.statusCode !== 200) refused += 1;
  };
  // The first answers wait until the abusers' requests have arrived, for which the kernel needs gigabytes of buffers.
  await Promise.all(Array.from({ length: clients }, ask));
  times.splice(0);
  const until = performance.now() + caseMs;
  const client = async () => {
    while (performance.now() < until) {
      await ask();
      await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  process.send?.({ times, refused });
  agent.destroy();
}

interface Told {
  times: number[];
  refused: number;
}

async function startService() {
  const nowhere = {
    server: 'https://127.0.0.1:1',
    tls: {},
    namespace: undefined,
    authorization: async () => undefined,
    discardAuthorization() {},
  };
  const config = parseConfig({ yaml: 'server: { host: 127.0.0.1, port: 0, metricsPort: 0 }' });
  const app = new App({ config, connection: nowhere, environment: {}, log: createLog({ level: 'silent', format: 'json' }) });
  return { app, port: (await app.start()).port };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}

async function measure(): Promise<void> {
  const { app, port: servicePort } = await startService();
  let quiet = Number.NaN;
  for (const name of Object.keys(abuses)) {
    const abuser = fork(import.meta.filename, ['abuse', String(servicePort), name]);
    await sleep(1_000);
    const behaving = fork(import.meta.filename, ['behave', String(servicePort)]);
    const [{ times, refused }] = (await once(behaving, 'message')) as [Told];
    await Promise.all([end(abuser), end(behaving)]);
    const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
    if (name === 'quiet') quiet = p95;
    console.log(
      `${name}: ${times.length} answers, ${refused} refused, p95 ${p95.toFixed(1)} ms, ${(p95 / quiet).toFixed(1)} times that of a quiet service`,
    );
  }
  await app.stop();
  process.exit();
}

if (role === 'abuse') {
  abuses[kind]?.();
  // The process ends with the one that started it.
  process.on('disconnect', () => process.exit());
} else if (role === 'behave') await behave();
else {
  setTimeout(() => process.exit(1), 120_000).unref();
  await measure();
}
