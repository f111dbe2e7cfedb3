import { type ComponentChild, render } from 'preact';
import { startBrand } from './app/brand';
import { startKeys } from './app/keys';
import { followBuild } from './app/other-build';
import { forgetRights } from './app/rights';
import { pathOf, startRouter } from './app/router';
import { followLogin, forget, isVisit, person, startSession } from './app/session';
import { onTabMessage } from './app/tabs';
import { startTheme } from './app/theme';
import { lookAhead, startAhead } from './shell/ahead';
import { App } from './shell/app';
import { Waiting } from './shell/away';
import { startStepUp } from './shell/step-up';
import { offerLanguages } from './text/offer-languages';
import { isAddedChosen, startLanguage } from './text/text';
import './ui/base.css';
import './ui/shell.css';
import './ui/controls.css';
import './ui/table.css';

async function start(): Promise<void> {
  followBuild();
  startTheme();
  startBrand();
  startKeys();
  if (isAddedChosen()) offerLanguages();
  const languageStarts = startLanguage();
  const here = new URL(location.href);
  if (isVisit()) lookAhead(pathOf(here), here.searchParams);
  const host = document.getElementById('app');
  let isEmptied = false;
  const show = (shown: ComponentChild) => {
    if (!host) return;
    // Later calls find what was rendered, which is compared with.
    if (!isEmptied) host.replaceChildren();
    isEmptied = true;
    render(shown, host);
  };
  await Promise.all([languageStarts, startSession(() => show(<Waiting />))]);
  startRouter();
  onTabMessage((message) => {
    // The same user continues with a page that may hold a half-filled form, which stays only as long as its rights are known.
    if (message.kind === 'logout' || person.value === undefined) forgetRights();
    if (message.kind === 'login') void followLogin(message.uid);
    else forget();
  });
  startAhead();
  startStepUp();
  show(<App />);
}

void start();
