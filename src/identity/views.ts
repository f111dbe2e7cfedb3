import type { Context } from 'koa';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { z } from 'zod';
import { reader } from '../api/reader.ts';
import { networkOf } from '../http/network.ts';
import { stateOf } from '../http/request-state.ts';
import type { Texts } from '../texts/texts.ts';
import { durationText, type languageChoice } from './languages.ts';
import { errors, type ProviderError } from './oidc-provider.ts';
import { type Look, type Page, sendPage } from './page.ts';
import * as pages from './pages.ts';

export interface ViewsOptions {
  look: () => Look;
  /** Where people go when nothing else is known. */
  consoleURL: string;
  choose: ReturnType<typeof languageChoice>;
}

/** Answers requests with pages in the language of the browser. */
export interface Views {
  readonly consoleURL: string;
  readonly title: string;
  texts(ctx: Context, uiLocales?: unknown): Texts;
  send(ctx: Context, page: Page): void;
  /** The page of whatever went wrong, under the status that `ctx` has. */
  failure(ctx: Context, failure: FailureLike, error: unknown): void;
}

/** What a page tells of an error: the words of OAuth, in English, are for the people who are asked for help. */
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

/** The secret by which the provider knows its own forms. */
function formOf(ctx: KoaContextWithOIDC, route: string): pages.ProviderForm {
  const secret = ctx.oidc.session?.state?.secret;
  return { action: ctx.oidc.urlFor(route), secret: typeof secret === 'string' ? secret : '' };
}

const nameOf = (client: { clientName?: string | undefined; clientId: string } | undefined) => client?.clientName ?? client?.clientId ?? '';

/** The page for a user who asks to log out; also in place of the provider's own page that posts itself by a script. */
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

/** For the policy of a page whose form leads there in the end. */
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

/** The pages of the device flow (RFC 8628, 3.3). */
export const devicePages = (views: Views, now: () => Date): NonNullable<Features['deviceFlow']> => ({
  userCodeInputSource(ctx, _form, out, error) {
    const { session } = ctx.oidc;
    if (error !== undefined && out !== undefined && session !== undefined && session.exp === undefined) {
      // A browser without cookies. The library has put the secret of a form into a session that it cannot save, which would end in a 500.
      Reflect.set(session, 'touched', false);
      views.failure(ctx, out, error);
      return;
    }
    const texts = views.texts(ctx);
    const code = typeof ctx.state.userCode === 'string' ? ctx.state.userCode : codeOf(error);
    views.send(ctx, pages.deviceCodePage(texts, formOf(ctx, 'code_verification'), code, error && problemOf(texts, error, out)));
  },
  userCodeConfirmSource(ctx, _form, client, device, code) {
    const asking = { client: nameOf(client), code, begun: begunOf(ctx, device, now()) };
    views.send(ctx, pages.deviceConfirmPage(views.texts(ctx), formOf(ctx, 'code_verification'), asking));
  },
  successSource: (ctx) => views.send(ctx, pages.deviceDonePage(views.texts(ctx))),
});

const readDevice = reader(z.object({ source: z.string() }));

/** @param device what was noted of it when it began */
function begunOf(ctx: KoaContextWithOIDC, device: unknown, now: Date): pages.AskingDevice['begun'] {
  const { iat } = ctx.oidc.entities.DeviceCode ?? {};
  const { source: address } = readDevice(device);
  if (iat === undefined || address === undefined) return undefined;
  const isElsewhere = networkOf(address) !== networkOf(stateOf(ctx).source);
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
