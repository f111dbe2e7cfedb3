import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';

/** The one without windows takes a fifth less of the processors. */
const executables = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Against hanging, on a machine that has other things to do; it shows nothing. */
const patienceMs = 120_000;

/** A headless browser that speaks only to the pages it is sent to. @throws Error that says how to get one */
export async function startChromium(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: executable(), args, timeout: patienceMs });
  browser.on('context', (context) => context.setDefaultTimeout(patienceMs));
  return browser;
}

/** The same as one person's browser, which another program can drive as well. */
export class SharedChromium {
  readonly context: BrowserContext;
  /** Where it listens for a debugger. */
  readonly port: number;
  readonly #directory: string;

  private constructor(context: BrowserContext, port: number, directory: string) {
    this.context = context;
    this.port = port;
    this.#directory = directory;
  }

  static async start(): Promise<SharedChromium> {
    const executablePath = executable();
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const context = await chromium.launchPersistentContext(directory, { executablePath, args: [...args, '--remote-debugging-port=0'] });
    context.setDefaultTimeout(patienceMs);
    // Written while it starts, and not all at once.
    const told = () => readFile(join(directory, 'DevToolsActivePort'), 'utf8').catch(() => '');
    const port = /^\d+(?=\n)/.exec(await eventually(told, (text) => text.includes('\n')))?.[0];
    return new SharedChromium(context, Number(port), directory);
  }

  async stop(): Promise<void> {
    await this.context.close();
    // Its helpers may write to it a moment longer.
    await rm(this.#directory, { recursive: true, maxRetries: 20, retryDelay: 250 });
  }
}

function executable(): string {
  const found = executables.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`Chromium is not on this machine: apt-get install chromium-headless-shell, or chromium`);
  return found;
}

/** A person's browser, and all that its pages complain of: violations of their policy, failed requests, errors of scripts, other hosts. */
export class Visitor {
  readonly #context: BrowserContext;
  readonly complaints: string[] = [];
  /** What may be complained of at any time, though all is well. */
  accepted: RegExp | undefined;

  constructor(context: BrowserContext) {
    this.#context = context;
    context.on('console', (message) => {
      const { url } = message.location();
      if (message.type() !== 'error' || isRefusedList(message.text(), url)) return;
      this.complaints.push(`${message.text()} ${withoutQuery(url)}`);
    });
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && !['127.0.0.1', 'localhost'].includes(hostname))
        this.complaints.push(`another host was asked: ${hostname}`);
    });
    context.on('weberror', (error) => this.complaints.push(String(error.error())));
  }

  /** Waits until a page complains of that; what was complained of is then accounted for. */
  async complainsOf(part: string): Promise<void> {
    await eventually(
      () => this.complaints,
      (complaints) => complaints.some((one) => one.includes(part)),
    );
    this.complaints.length = 0;
  }

  /** What is not accounted for. */
  takeComplaints = (): string[] => this.complaints.splice(0).filter((one) => !this.accepted?.test(one));

  openTab = (): Promise<Page> => this.#context.newPage();

  cookies = () => this.#context.cookies();

  leave = (): Promise<void> => this.#context.close();
}

/** A page requests its list before it knows that the kind exists and that the user may list it. */
const isRefusedList = (text: string, url: string): boolean =>
  /status of 40[34] /.test(text) && /\/api\/(?:kubernetes|v2\/resources)\/.*[?&]limit=\d+$/.test(url);

const withoutQuery = (address: string) => address.split('?', 1)[0] ?? '';
