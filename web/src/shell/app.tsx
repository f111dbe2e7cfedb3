import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { resumed } from '../api/client';
import { useLoad } from '../api/load';
import { Retry, untilDone } from '../api/outage';
import { asProblem, type Problem } from '../api/problem';
import { useFeature } from '../api/version';
import { setTitle } from '../app/brand';
import { NoPage } from '../app/no-page';
import type { PageProps } from '../app/page-props';
import { path, query } from '../app/router';
import { isPasswordDue, person } from '../app/session';
import { strips } from '../app/strips';
import { loadTexts, t } from '../text/text';
import { Loaded } from '../ui/loaded';
import { Failure, Skeleton } from '../ui/state';
import { Toasts } from '../ui/toast';
import { lookAhead } from './ahead';
import { Asked } from './asked';
import { Away } from './away';
import { Ended } from './ended';
import { Overlays } from './overlays';
import { loadPage, routeOf } from './pages';
import { Shell } from './shell';
import { Start } from './start';
import { StepUpAsked } from './step-up';

/** Strips below the header. The user's own access is followed once the page is rendered. */
function Strips() {
  const [isOn, isLive] = [useFeature('accessRequests'), useFeature('watch')];
  const record = person.value?.ext.user;
  useEffect(() => {
    if (!isOn || record === undefined) return;
    return afterPaint(async () => {
      const { followOwnAccess } = await untilDone(() => import('./follow-own-access'));
      return followOwnAccess(record, isLive);
    });
  }, [isOn, isLive, record, resumed.value]);
  const Shown = strips.value;
  return Shown ? <Shown /> : null;
}

/** The form for a password that has to be changed. Most people do without its code. */
function Due() {
  const load = useLoad('password due', async () => (await Promise.all([import('./password-due'), loadTexts('overlays')]))[0]);
  return <Loaded load={load}>{({ PasswordDue }) => <PasswordDue />}</Loaded>;
}

export function App() {
  useSignalEffect(() => {
    if (person.value === undefined || isPasswordDue.value) return;
    return afterPaint(async () => (await untilDone(() => import('./later'))).startLater());
  });
  if (person.value === undefined) return <Start />;
  if (isPasswordDue.value) return <Due />;
  return (
    <>
      <Shell
        strip={
          <>
            <Away />
            <Strips />
          </>
        }
      >
        <CurrentPage />
      </Shell>
      <Ended />
      <StepUpAsked />
      <Asked />
      <Overlays />
      <Toasts />
    </>
  );
}

/** Begins once the page is rendered. @returns a function that ends it, even if it has not begun */
function afterPaint(begin: () => Promise<() => void>): () => void {
  let [end, isOver]: [(() => void) | undefined, boolean] = [undefined, false];
  const timer = setTimeout(() => {
    void begin().then((ends) => {
      if (isOver) ends();
      else end = ends;
    });
  }, paintMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
    end?.();
  };
}

const paintMs = 50;

interface LoadedPage {
  Page: ComponentType<PageProps>;
  pattern: string;
  params: Record<string, string>;
}

/** The last page stays until the next one has loaded. */
function CurrentPage() {
  const loaded = useSignal<LoadedPage | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const attempt = useSignal(0);
  const isMissing = useSignal(false);
  const retry = useMemo(() => new Retry(() => attempt.value++), []);

  useSignalEffect(() => {
    void attempt.value;
    const found = routeOf(path.value);
    isMissing.value = found === undefined;
    if (found === undefined) return;
    const { route, params } = found;
    lookAhead(path.value, query.peek());
    let isOld = false;
    loadPage(found).then(
      (Page) => {
        if (isOld) return;
        problem.value = undefined;
        retry.succeeded();
        loaded.value = { Page, pattern: route.pattern, params };
        setTitle(t(route.title));
      },
      (error: unknown) => {
        if (isOld) return;
        const failed = asProblem(error);
        problem.value = failed;
        if (failed.isOutage) retry.plan(failed);
      },
    );
    return () => {
      isOld = true;
      retry.stop();
    };
  });

  if (problem.value) return <Failure problem={problem.value} onRetry={() => attempt.value++} />;
  if (isMissing.value) return <NoPage />;
  if (loaded.value === undefined) return <Skeleton />;
  const { Page, pattern, params } = loaded.value;
  return (
    <Visit key={pattern + (params.name ?? params.plugin ?? '')}>
      <Page params={params} />
    </Visit>
  );
}

/** True until the first page is shown. The heading of each later page receives the focus, for keyboards and screen readers. */
let isFirst = true;

function Visit({ children }: { children: preact.ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = place.current;
    const [wasFirst, find] = [isFirst, () => host?.querySelector<HTMLElement>('h1')];
    isFirst = false;
    if (host === null || wasFirst) return;
    let heading = find();
    heading?.focus({ preventScroll: true });
    // The heading of a loading page is replaced when its content arrives, and would lose the focus.
    const observer = new MutationObserver(() => {
      if (heading?.isConnected) return;
      heading = find();
      if (document.activeElement === document.body) heading?.focus({ preventScroll: true });
    });
    observer.observe(host, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
  return (
    <div class="visit" ref={place}>
      {children}
    </div>
  );
}
