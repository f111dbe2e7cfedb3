/** Asks the user to log in, with instructions on the terminal. */
import type { Issuer } from './issuer.ts';
import { troubleOf } from './issuer.ts';
import { Loopback } from './loopback.ts';
import { hasBrowser, openBrowser } from './open-browser.ts';
import type { Ways } from './settings.ts';
import { CommandError, say, type Terminal } from './terminal.ts';
import type { Tokens } from './tokens.ts';

/**
 * Logs in with the browser of this machine, or by a code on another device if that was requested or there is no browser.
 *
 * @throws CommandError
 */
export async function logInAt(issuer: Issuer, ways: Ways, terminal: Terminal): Promise<Tokens> {
  const isByCode = ways.device || (ways.opensBrowser && issuer.hasDeviceFlow && !hasBrowser(terminal));
  const deadline = AbortSignal.timeout(ways.timeoutMs);
  const signal = AbortSignal.any([terminal.signal, deadline]);
  try {
    return await (isByCode ? byCode(issuer, terminal, signal) : byBrowser(issuer, ways, terminal, signal));
  } catch (error) {
    if (deadline.aborted && !terminal.signal.aborted) throw new CommandError(`there was no login within ${ways.timeoutMs / 1000} seconds`);
    throw troubleOf('the login failed', error, terminal);
  }
}

async function byCode(issuer: Issuer, terminal: Terminal, signal: AbortSignal): Promise<Tokens> {
  if (!issuer.hasDeviceFlow) throw new CommandError('the issuer has no login on another device');
  return issuer.deviceFlow(({ url, code }) => say(terminal, `To log in, open ${url}\nand enter the code ${code}`), signal);
}

async function byBrowser(
  issuer: Issuer,
  { opensBrowser, ports, isFresh = false }: Ways,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Tokens> {
  const loopback = await Loopback.listen(ports);
  try {
    const flow = await issuer.codeFlow(loopback.redirectURL, { isFresh });
    if (opensBrowser) openBrowser(loopback.startURL, terminal);
    say(terminal, `${opensBrowser ? 'Log in with the browser. If it does not open:' : 'To log in, open'} ${loopback.startURL}`);
    return await loopback.tokens(flow, signal);
  } finally {
    loopback.close();
  }
}
