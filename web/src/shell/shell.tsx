import { useSignalEffect } from '@preact/signals';
import { Check, Ellipsis, Inbox, Keyboard, Languages, LogOut, Monitor, Moon, Rows3, Search, Sun, UserRound } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { asProblem } from '../api/problem';
import { viewed } from '../api/view';
import { brandTitle } from '../app/brand';
import { openOverlay } from '../app/keys';
import { href, navigate, path } from '../app/router';
import { logOut, person } from '../app/session';
import { densities, density, type Theme, theme, themes } from '../app/theme';
import { offerLanguages } from '../text/offer-languages';
import { language, languages, t } from '../text/text';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Menu, type MenuItem } from '../ui/menu';
import { forgetMessages, messages, toast } from '../ui/toast';
import { chooseLanguage } from './language-choice';
import { Logo } from './logo';
import { type Sections, type ShownEntry, useMenu } from './menu';
import { NamespaceChoice } from './namespace-choice';
import { isWithin } from './pages';
import { ViewBanner } from './view-banner';

export function Shell({ strip, children }: { strip: ComponentChildren; children: ComponentChildren }) {
  const sections = useMenu();
  return (
    <div class={viewed.value ? 'shell viewed' : 'shell'}>
      <a class="skip" href="#main" data-outside>
        {t('shell.skip')}
      </a>
      <ViewBanner />
      <TopBar strip={strip} />
      <SideMenu sections={sections} />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <BottomBar sections={sections} />
    </div>
  );
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const;

function TopBar({ strip }: { strip: ComponentChildren }) {
  const themeItems = themes.map(
    (choice: Theme): MenuItem => ({
      label: t(`theme.${choice}`),
      icon: themeIcons[choice],
      isChecked: theme.value === choice,
      act: () => {
        theme.value = choice;
      },
    }),
  );
  const densityItems = densities.map(
    (choice, index): MenuItem => ({
      label: t(`density.${choice}`),
      icon: Rows3,
      isChecked: density.value === choice,
      isApart: index === 0,
      act: () => {
        density.value = choice;
      },
    }),
  );
  const languageItems = Object.entries(languages.value).map(
    ([id, label]): MenuItem => ({
      label,
      isChecked: language.value === id,
      ...(language.value === id && { icon: Check }),
      act: () => chooseLanguage(id),
    }),
  );
  return (
    <header>
      <div class="top">
        <a class="brand" href={href('/')} aria-label={brandTitle()}>
          <Logo size={24} />
          <span>{brandTitle()}</span>
        </a>
        <span class="grow" />
        <NamespaceChoice />
        <button
          type="button"
          class="button quiet palette-button"
          aria-haspopup="dialog"
          aria-keyshortcuts="Control+K"
          title={t('palette.title')}
          onClick={() => openOverlay('palette')}
        >
          <Icon of={Search} />
          <span class="hidden">{t('palette.title')}</span>
          <kbd>{t('keys.control')} K</kbd>
        </button>
        <MessagesButton />
        <Menu label={t('shell.theme')} icon={themeIcons[theme.value]} items={[...themeItems, ...densityItems]} />
        <Menu label={t('shell.language')} icon={Languages} items={languageItems} onOpen={offerLanguages} />
        <PersonMenu />
      </div>
      {strip}
    </header>
  );
}

/** Shown once there are messages. They are those of one user. */
function MessagesButton() {
  useEffect(() => forgetMessages, [person.value?.uid]);
  if (messages.value.length === 0) return null;
  return <Button kind="quiet" icon={Inbox} label={t('shell.messages')} onClick={() => openOverlay('messages')} />;
}

function PersonMenu() {
  const who = person.value;
  const items: MenuItem[] = [
    ...(who?.ext.user ? [{ label: t('shell.profile'), icon: UserRound, act: () => navigate(`/users/${who.ext.user}`) }] : []),
    {
      label: t('keys.title'),
      icon: Keyboard,
      act: () => openOverlay('keys'),
    },
    {
      label: t('shell.logOut'),
      icon: LogOut,
      isApart: true,
      act: () => void logOut().catch((error: unknown) => toast('bad', asProblem(error).message)),
    },
  ];
  return (
    <Menu label={t('shell.person')} icon={UserRound} items={items}>
      <span class="who" title={who?.name}>
        {who?.ext.display_name || who?.name}
      </span>
    </Menu>
  );
}

function Entry({ entry: { to, within = to, text, icon, badge } }: { entry: ShownEntry }) {
  return (
    <a href={href(to)} aria-current={isWithin(path.value, within) ? 'page' : undefined}>
      <Icon of={icon} size={18} />
      <span>{text}</span>
      {badge && (
        <span class="badge" title={badge.label}>
          <span aria-hidden="true">{badge.count}</span>
          <span class="hidden">{badge.label}</span>
        </span>
      )}
    </a>
  );
}

function SideMenu({ sections }: { sections: Sections }) {
  return (
    <nav class="side" aria-label={t('shell.menu')}>
      {sections.map(({ label, entries }) => (
        <div key={label ?? ''}>
          {label && <p>{label}</p>}
          {entries.map((entry) => (
            <Entry key={entry.to} entry={entry} />
          ))}
        </div>
      ))}
    </nav>
  );
}

const nearAtHand = 4;

/** On a phone: the first pages at the thumb, the rest in a sheet. */
function BottomBar({ sections }: { sections: Sections }) {
  const sheet = useRef<HTMLDialogElement>(null);
  const all = sections.flatMap(({ entries }) => entries);
  useSignalEffect(() => {
    void path.value;
    sheet.current?.close();
  });
  return (
    <nav class="bottom" aria-label={t('shell.menu')}>
      {all.slice(0, nearAtHand).map((entry) => (
        <Entry key={entry.to} entry={entry} />
      ))}
      {all.length > nearAtHand && (
        <button type="button" aria-haspopup="dialog" onClick={() => sheet.current?.showModal()}>
          <Icon of={Ellipsis} size={18} />
          <span>{t('shell.more')}</span>
        </button>
      )}
      <dialog ref={sheet} class="sheet" aria-label={t('shell.menu')} closedby="any">
        {all.slice(nearAtHand).map((entry) => (
          <Entry key={entry.to} entry={entry} />
        ))}
        <Button kind="quiet" onClick={() => sheet.current?.close()}>
          {t('action.close')}
        </Button>
      </dialog>
    </nav>
  );
}
