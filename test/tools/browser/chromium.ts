import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** A headless browser that speaks only to the pages it is sent to. @throws Error that says how to get one */
export async function startChromium(): Promise<Browser> {
  if (!existsSync(executablePath)) throw new Error(`${executablePath} is not on this machine: apt-get install chromium`);
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A person's browser, and all that its pages complain of: violations of their policy, failed requests, errors of scripts, other hosts. */
export class Visitor {
  readonly #context: BrowserContext;
  readonly complaints: string[] = [];

  constructor(context: BrowserContext) {
    this.#context = context;
    context.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`${message.text()} ${withoutQuery(message.location().url)}`);
    });
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && !['127.0.0.1', 'localhost'].includes(hostname))
        this.complaints.push(`another host was asked: ${hostname}`);
    });
    context.on('weberror', (error) => this.complaints.push(String(error.error())));
  }

  openTab = (): Promise<Page> => this.#context.newPage();

  cookies = () => this.#context.cookies();

  leave = (): Promise<void> => this.#context.close();
}

const withoutQuery = (address: string) => address.split('?', 1)[0] ?? '';
