import { networkOf } from '@atrium/http/client-address.ts';
import { reader } from '@atrium/objects/reader.ts';
import type { Context } from 'koa';
import type { Configuration, FindAccount, KoaContextWithOIDC } from 'oidc-provider';
import { z } from 'zod';
import type { Texts } from '../texts/texts.ts';
import { errors, type ProviderError } from './oidc-provider.ts';
import { durationText, type Look, type languageChoice, type Page, sendPage } from './page.ts';
import * as pages from './pages.ts';

export interface ViewsOptions {
  look: () => Look;
  /** Address for users who have no other destination. */
  consoleURL: string;
  choose: ReturnType<typeof languageChoice>;
}

/** Answers requests with pages in the language of the browser. */
export interface Views {
  readonly consoleURL: string;
  readonly title: string;
  texts(ctx: Context, uiLocales?: unknown): Texts;
  send(ctx: Context, page: Page): void;
  /** Answers with a page about a failure. The status is that of `ctx`, at least 400. */
  failure(ctx: Context, failure: FailureLike, error: unknown): void;
}

/** OAuth error. Pages show its English text as details for administrators. */
interface FailureLike {
  error: string;
  error_description?: string | undefined;
}

export function createViews({ look, consoleURL, choose }: ViewsOptions): Views {
  const send = (ctx: Context, page: Page) => sendPage(ctx, look(), page);
  return {
    consoleURL,
    get title() {
      return look().title;
    },
    texts: choose,
    send,
    failure(ctx, { error: code, error_description }, error) {
      const texts = choose(ctx);
      if (ctx.status < 400) ctx.status = 400;
      const known = error instanceof errors.SessionNotFound ? texts.t('identity.begun') : texts.t('identity.failed');
      const wait = ctx.status === 429 ? Number(ctx.response.get('Retry-After')) : 0;
      const text =
        ctx.status >= 500
          ? texts.t('identity.unavailable')
          : wait > 0
            ? texts.t('identity.tooMany', { wait: durationText(texts, wait) })
            : known;
      send(ctx, pages.failurePage(texts, text, [code, error_description].filter(Boolean).join(': '), consoleURL));
    },
  };
}

/** Returns a form of the provider, with the secret by which the provider accepts it. */
function formOf(ctx: KoaContextWithOIDC, route: string): pages.ProviderForm {
  const secret = ctx.oidc.session?.state?.secret;
  return { action: ctx.oidc.urlFor(route), secret: typeof secret === 'string' ? secret : '' };
}

const nameOf = (client: { clientName?: string | undefined; clientId: string } | undefined) => client?.clientName ?? client?.clientId ?? '';

/** Answers with the page for a logout. Also replaces the provider's own page, which submits itself by a script. */
export function endSessionView(views: Views, ctx: KoaContextWithOIDC): void {
  const { oidc } = ctx;
  const texts = views.texts(ctx, oidc.params?.ui_locales);
  const form = formOf(ctx, 'end_session_confirm');
  const back = oidc.session?.state?.postLogoutRedirectUri;
  const targets = [back, oidc.entities.Interaction?.params.redirect_uri].flatMap(originsOf);
  const isLoggedIn = oidc.session?.accountId !== undefined;
  const isQuestion = oidc.route === 'end_session' && isLoggedIn;
  const hinted = oidc.entities.IdTokenHint?.payload.sub;
  const isHinted = hinted !== undefined && hinted === oidc.session?.accountId;
  const question = isHinted
    ? pages.hintedLogoutPage(texts, form, targets)
    : pages.logoutPage(texts, form, typeof back === 'string' ? back : views.consoleURL, targets);
  views.send(ctx, isQuestion ? question : pages.endSessionPage(texts, form, isLoggedIn, targets));
}

/** Returns the source expression, for the policy of a page whose form finally leads to the URL. */
export function originsOf(url: unknown): string[] {
  if (typeof url !== 'string' || !URL.canParse(url)) return [];
  const { origin, protocol } = new URL(url);
  return [origin === 'null' ? protocol : origin];
}

type Features = NonNullable<Configuration['features']>;

export const endSessionPages = (views: Views): NonNullable<Features['rpInitiatedLogout']> => ({
  enabled: true,
  logoutSource: (ctx) => endSessionView(views, ctx),
  postLogoutSuccessSource: (ctx) => views.send(ctx, pages.donePage(views.texts(ctx), views.consoleURL)),
});

interface DeviceParts {
  findAccount: FindAccount;
  now: () => Date;
}

/** Returns the pages of the device flow (RFC 8628, 3.3). */
export const devicePages = (views: Views, { findAccount, now }: DeviceParts): NonNullable<Features['deviceFlow']> => ({
  userCodeInputSource(ctx, _form, out, error) {
    const { session } = ctx.oidc;
    if (error !== undefined && out !== undefined && session !== undefined && session.exp === undefined) {
      // The browser sends no cookies. The library has put the form's secret into a session that it cannot save, which would fail with 500.
      Reflect.set(session, 'touched', false);
      views.failure(ctx, out, error);
      return;
    }
    const texts = views.texts(ctx);
    const code = typeof ctx.state.userCode === 'string' ? ctx.state.userCode : codeOf(error);
    views.send(ctx, pages.deviceCodePage(texts, formOf(ctx, 'code_verification'), code, error && problemOf(texts, error, out)));
  },
  async userCodeConfirmSource(ctx, _form, client, device, code) {
    const email = await loggedInEmail(ctx, findAccount);
    const asking = { client: nameOf(client), email, code, begun: deviceRequestOf(ctx, device, now()) };
    views.send(ctx, pages.deviceConfirmPage(views.texts(ctx), formOf(ctx, 'code_verification'), asking));
  },
  successSource: (ctx) => views.send(ctx, pages.deviceDonePage(views.texts(ctx))),
});

async function loggedInEmail(ctx: KoaContextWithOIDC, findAccount: FindAccount): Promise<string | undefined> {
  const subject = ctx.oidc.session?.accountId;
  const account = subject === undefined ? undefined : await findAccount(ctx, subject);
  const claims = await account?.claims('userinfo', 'email', {}, []);
  return typeof claims?.email === 'string' ? claims.email : undefined;
}

const readDevice = reader(z.object({ source: z.string() }));

/** @param device information that was stored when the device flow began */
function deviceRequestOf(ctx: KoaContextWithOIDC, device: unknown, now: Date): pages.AskingDevice['begun'] {
  const { iat } = ctx.oidc.entities.DeviceCode ?? {};
  const { source: address } = readDevice(device);
  if (iat === undefined || address === undefined) return undefined;
  const isElsewhere = networkOf(address) !== networkOf(ctx.state.source);
  return { secondsAgo: Math.max(1, Math.floor(now.getTime() / 1000) - iat), address, isElsewhere };
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'userCode' in error && typeof error.userCode === 'string' ? error.userCode.slice(0, 32) : '';

function problemOf(texts: Texts, error: Error | ProviderError, out: FailureLike | undefined): string {
  switch (error.name) {
    case 'NotFoundError':
    case 'NoCodeError':
      return texts.t('identity.codeUnknown');
    case 'ExpiredError':
      return texts.t('identity.codeExpired');
    case 'AlreadyUsedError':
      return texts.t('identity.codeUsed');
    case 'AbortedError':
      return texts.t('identity.aborted');
    default:
      return 'statusCode' in error && error.statusCode >= 500
        ? texts.t('identity.unavailable')
        : `${texts.t('identity.failed')} (${out?.error_description ?? out?.error})`;
  }
}
