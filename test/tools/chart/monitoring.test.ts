import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { z } from 'zod';
import { chartDirectory } from '../../../scripts/chart/values-files.ts';
import { promcheckProgram } from '../../cluster/build.ts';
import { withAuditStore } from '../../service/audit-store/installation.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { one, render } from './chart.ts';

const password = 'correct horse battery staple';

/** Metrics that tell of a failure of the audit. */
const auditFailures = [
  ...['atrium_audit_checkpoints_total', 'atrium_audit_events_lost_total', 'atrium_audit_events_waiting', 'atrium_audit_spool_failing'],
  ...['atrium_audit_store_bytes', 'atrium_audit_store_exported_total', 'atrium_audit_writes_refused_total'],
  'atrium_recordings_lost_bytes_total',
];

const dashboard = z.object({
  title: z.string(),
  panels: z.array(z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).min(1) })).min(10),
});

/** Runs a check of Prometheus' own linters. @returns its lines; @throws Error with the problems */
async function promcheck(kind: 'metrics' | 'rules' | 'expressions', input: string): Promise<string[]> {
  const program = await promcheckProgram();
  return new Promise((resolve, reject) => {
    const child = execFile(program, [kind], (error, stdout) => {
      if (error) reject(new Error(stdout || error.message));
      else resolve(stdout.split('\n').filter((line) => line !== ''));
    });
    child.stdin?.end(input);
  });
}

describe('monitoring of the chart', () => {
  let login: EmbeddedLogin;
  let text = '';

  before(async () => {
    const features = { accessRequests: true };
    login = await startEmbeddedLogin({ emails: ['jane@example.com'], password, credentials: 'impersonate', features });
    await login.logIn('jane@example.com', password);
    text = await (await fetch(`${login.metricsURL}/metrics`)).text();
  });

  after(() => login.stop());

  /** Service and audit store, which have further metrics together. */
  const audited = forSuite(async () => {
    const service = await withAuditStore(
      {},
      {
        ...{ recordings: { s3: { endpoint: 'http://127.0.0.1:1', bucket: 'recordings' } }, otlp: { endpoint: 'http://127.0.0.1:1' } },
      },
    );
    await service.startStore();
    return service;
  });

  /** Returns the names of all series, also of metrics that have no sample yet. */
  const exposed = (metrics = text) =>
    Array.from(metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)).flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    );

  it('scrapes metrics that the linter of promtool accepts', async () => {
    // The metrics of the process come from prom-client, under the names that dashboards for Node.js know.
    const ours = text.split('\n').filter((line) => /^(?:# (?:HELP|TYPE) )?atrium_/.test(line));

    expect(await promcheck('metrics', `${ours.join('\n')}\n`)).to.deep.equal([]);
    await expectProblem(promcheck('metrics', '# HELP atrium_x_total X.\n# TYPE atrium_x_total gauge\natrium_x_total 1\n'), '_total');
  });

  it('has alerts that Prometheus accepts, of metrics that exist', async () => {
    const objects = await render({ 'metrics.prometheusRule': { enabled: true } });
    const { spec } = z.object({ spec: z.looseObject({}) }).parse(one(objects, 'PrometheusRule'));

    const further = [audited.metricsURL, audited.storeMetricsURL()].map(async (url) =>
      exposed(await (await fetch(`${url}/metrics`)).text()),
    );
    const watched = await promcheck('rules', stringify(spec));
    expect([...exposed(), ...(await Promise.all(further)).flat()]).to.include.members(watched);
    expect(watched).to.include.members(auditFailures);
  });

  it('has a dashboard for Grafana, of metrics that exist', async () => {
    expect(await render()).to.satisfy((all: { kind: string; metadata: { name: string } }[]) =>
      all.every(({ metadata }) => !metadata.name.endsWith('-dashboard')),
    );
    const objects = await render({ 'metrics.dashboard': { enabled: true, namespace: 'monitoring', annotations: { folder: 'Atrium' } } });
    const { metadata, data } = z
      .object({ metadata: z.looseObject({}), data: z.record(z.string(), z.string()) })
      .parse(one(objects, 'ConfigMap', 'atrium-dashboard'));
    const { panels } = dashboard.parse(JSON.parse(data['atrium.json'] ?? ''));
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')));

    expect(metadata).to.deep.include({ namespace: 'monitoring', annotations: { folder: 'Atrium' } });
    expect(metadata).to.have.property('labels').that.includes({ grafana_dashboard: '1' });
    expect(data['atrium.json']?.trimEnd()).to.equal(readFileSync(new URL('files/dashboard.json', chartDirectory), 'utf8').trimEnd());
    expect(exposed()).to.include.members(await promcheck('expressions', `${expressions.join('\n')}\n`));
    await expectProblem(promcheck('expressions', 'sum(rate(atrium_x_total))\n'), 'parse error');
  });
});

async function expectProblem(check: Promise<string[]>, words: string): Promise<void> {
  const problem = await check.then(
    () => '',
    (error: Error) => error.message,
  );
  expect(problem).to.contain(words);
}
