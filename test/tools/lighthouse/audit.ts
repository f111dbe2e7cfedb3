/** Runs Lighthouse in a process of its own, at a page of an open browser. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ownPackages } from '../../support/own-packages.ts';

/** Scores of categories and audits are between 0 and 1. The score of an audit that does not apply is null. */
const report = z.object({
  finalDisplayedUrl: z.string(),
  runtimeError: z.object({ message: z.string() }).optional(),
  categories: z.record(
    z.string(),
    z.object({
      score: z.number().nullable(),
      auditRefs: z.array(z.object({ id: z.string(), weight: z.number() })),
    }),
  ),
  audits: z.record(
    z.string(),
    z.object({
      score: z.number().nullable(),
      numericValue: z.number().optional(),
      displayValue: z.string().optional(),
      details: z.unknown().optional(),
    }),
  ),
});

export interface Audited {
  /** Final address of the page, after redirects. */
  url: string;
  /** Scores in hundredths. */
  scores: Record<string, number>;
  /** Audits with a weight that did not reach the full score. */
  imperfect: string[];
  /** Compressed bytes over the network. */
  bytes: number;
  /** Addresses that the first paint waits for. */
  blocking: string[];
}

const waitedFor = z.object({ items: z.array(z.object({ url: z.string() })).default([]) }).default({ items: [] });

/**
 * @param port of the browser's debugger
 * @param left further audits to skip
 * @throws Error if the page could not be audited
 */
export async function audit(url: string, port: number, form: 'desktop' | 'phone', left: readonly string[] = []): Promise<Audited> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(await ownPackages(new URL('./', import.meta.url)), 'lighthouse/cli/index.js'),
      url,
      `--port=${port}`,
      ...(form === 'desktop' ? ['--preset=desktop'] : []),
      '--only-categories=performance,accessibility,best-practices,seo',
      // A console behind a login is not indexed, by noindex and robots.txt. This audit requires the opposite.
      `--skip-audits=${['is-crawlable', ...left]}`,
      '--disable-storage-reset',
      '--disable-full-page-screenshot',
      '--no-enable-error-reporting',
      '--output=json',
      '--quiet',
    ],
    { maxBuffer: 50_000_000 },
  );
  const { finalDisplayedUrl, runtimeError, categories, audits } = report.parse(JSON.parse(stdout));
  if (runtimeError !== undefined) throw new Error(`${url}: ${runtimeError.message}`);
  const counted = Object.values(categories).flatMap(({ auditRefs }) => auditRefs.filter(({ weight }) => weight > 0));
  return {
    url: finalDisplayedUrl,
    scores: Object.fromEntries(Object.entries(categories).map(([name, { score }]) => [name, Math.round((score ?? 0) * 100)])),
    imperfect: counted.flatMap(({ id }) => {
      const { score = null, displayValue = '' } = audits[id] ?? {};
      return score === null || score === 1 ? [] : [`${id} ${displayValue}`.trim()];
    }),
    bytes: audits['total-byte-weight']?.numericValue ?? Number.NaN,
    blocking: waitedFor.parse(audits['render-blocking-insight']?.details).items.map(({ url }) => url),
  };
}
