/** Lighthouse in a process of its own, at a page of a browser that is open already. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { lighthouse } from './install.ts';

/** The score of a category is between 0 and 1; that of an audit, too, and null where there was nothing to look at. */
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
  /** Where the page was in the end: not the address asked for, if something led elsewhere. */
  url: string;
  /** In hundredths. */
  scores: Record<string, number>;
  /** Audits of those categories that did not get all, and count. */
  imperfect: string[];
  /** Over the network, compressed. */
  bytes: number;
  /** Addresses that the first paint waits for. */
  blocking: string[];
}

const waitedFor = z.object({ items: z.array(z.object({ url: z.string() })).default([]) }).default({ items: [] });

/**
 * @param port where the browser listens for a debugger
 * @param left further audits that are left out
 * @throws Error if the page could not be audited
 */
export async function audit(url: string, port: number, form: 'desktop' | 'phone', left: readonly string[] = []): Promise<Audited> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      await lighthouse(),
      url,
      `--port=${port}`,
      ...(form === 'desktop' ? ['--preset=desktop'] : []),
      '--only-categories=performance,accessibility,best-practices,seo',
      // A console behind a login is in no index: it says noindex, and robots.txt asks to stay away. This audit wants the opposite.
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
