import { useSignalEffect } from '@preact/signals';
import { Boxes, Check, Ellipsis, Languages, LogOut, Monitor, Moon, Sun, UserRound } from 'lucide';
import { type ComponentChildren, Fragment } from 'preact';
import { useRef } from 'preact/hooks';
import { base } from '../api/client';
import { asProblem } from '../api/problem';
import { language, languages, setLanguage, t } from '../text/text';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Menu, type MenuItem } from '../ui/menu';
import { toast } from '../ui/toast';
import { useClusterMenu } from './cluster-menu';
import { NamespaceChoice } from './namespace-choice';
import { isWithin, type MenuEntry, menu } from './pages';
import { href, navigate, path } from './router';
import { logOut, person } from './session';
import { type Theme, theme, themes } from './theme';

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip" href="#main" data-outside>
        {t('shell.skip')}
      </a>
      <TopBar />
      <SideMenu />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <BottomBar />
    </div>
  );
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const;

function TopBar() {
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
  const languageItems = Object.entries(languages).map(
    ([id, label]): MenuItem => ({
      label,
      isChecked: language.value === id,
      ...(language.value === id && { icon: Check }),
      act: () => void setLanguage(id),
    }),
  );
  return (
    <header class="top">
      <a class="brand" href={href('/')} aria-label="Atrium">
        <img src={new URL('mark.svg', base).href} alt="" width={24} height={24} />
        <span>Atrium</span>
      </a>
      <span class="grow" />
      <NamespaceChoice />
      <Menu label={t('shell.theme')} icon={themeIcons[theme.value]} items={themeItems} />
      <Menu label={t('shell.language')} icon={Languages} items={languageItems} />
      <PersonMenu />
    </header>
  );
}

function PersonMenu() {
  const who = person.value;
  const items: MenuItem[] = [
    ...(who?.ext.user ? [{ label: t('shell.profile'), icon: UserRound, act: () => navigate(`/users/${who.ext.user}`) }] : []),
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

function Entry({ entry: { to, label, icon } }: { entry: MenuEntry }) {
  return (
    <a href={href(to)} aria-current={isWithin(path.value, to) ? 'page' : undefined}>
      <Icon of={icon} size={18} />
      <span>{t(label)}</span>
    </a>
  );
}

function SideMenu() {
  return (
    <nav class="side" aria-label={t('shell.menu')}>
      {menu.map(({ label, entries }) => (
        <Fragment key={label ?? ''}>
          {label === 'menu.console' && <ClusterEntries />}
          <div>
            {label && <p>{t(label)}</p>}
            {entries.map((entry) => (
              <Entry key={entry.to} entry={entry} />
            ))}
          </div>
        </Fragment>
      ))}
    </nav>
  );
}

/** What the cluster has, pinned kinds first. */
function ClusterEntries() {
  const entries = useClusterMenu();
  if (entries === undefined) return null;
  return (
    <div>
      <p>{t('menu.cluster')}</p>
      {entries.map(({ to, within, text, icon }) => (
        <a key={within} href={href(to)} aria-current={isWithin(path.value, within) ? 'page' : undefined}>
          <Icon of={icon} size={18} />
          <span>{text}</span>
        </a>
      ))}
      <Entry entry={{ to: '/kinds', label: 'cluster.kinds', icon: Boxes }} />
    </div>
  );
}

const nearAtHand = 4;

/** On a phone: the first pages at the thumb, the rest in a sheet. */
function BottomBar() {
  const sheet = useRef<HTMLDialogElement>(null);
  const all = menu.flatMap(({ entries }) => entries);
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
        <ClusterEntries />
        <Button kind="quiet" onClick={() => sheet.current?.close()}>
          {t('action.close')}
        </Button>
      </dialog>
    </nav>
  );
}
