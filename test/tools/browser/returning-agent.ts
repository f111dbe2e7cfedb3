/** An agent on the user's machine, to which the browser returns after the consent. */
import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { OfficialAgent } from '../../service/mcp/official-agent.ts';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { submitPassword } from './demo.ts';

export class ReturningAgent {
  readonly official: OfficialAgent;
  readonly #stop: () => Promise<void>;
  readonly #port: number;

  private constructor(official: OfficialAgent, port: number, stop: () => Promise<void>) {
    this.official = official;
    this.#port = port;
    this.#stop = stop;
  }

  static async start(login: EmbeddedLogin): Promise<ReturningAgent> {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Agent</title><p>You can close this page.');
    });
    const port = await listen(server);
    const official = await OfficialAgent.start(login, `http://127.0.0.1:${port}/callback`);
    return new ReturningAgent(official, port, async () => {
      await official.stop();
      await stopListening(server);
    });
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /** Begins in the browser, up to the page of the consent. */
  async ask(page: Page, person: { email: string; password: string }): Promise<void> {
    await page.goto((await this.official.ask()).href);
    await page.locator('main form').first().waitFor();
    if (await page.locator('#email').isVisible()) await submitPassword(page, person);
    await page.getByText('Official (agent.example.com').waitFor();
  }

  /** Waits until the browser is back at the agent. */
  async returned(page: Page): Promise<URLSearchParams> {
    await page.waitForURL(`http://127.0.0.1:${this.#port}/callback?*`);
    return new URL(page.url()).searchParams;
  }

  /** Gets the tokens of a person who allows the agent. */
  async permit(page: Page, person: { email: string; password: string }): Promise<void> {
    await this.ask(page, person);
    await page.locator('main form button').first().click();
    await this.official.finish(await this.returned(page));
  }
}
