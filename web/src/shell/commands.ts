/** Commands of the palette: pages, kinds of the cluster, and actions. */
import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type IconNode, Keyboard, Link2, LogOut, Moon, Sun, UserPlus } from 'lucide';
import { fetchKinds, isListable, pageOf } from '../api/kinds';
import { useLoad } from '../api/load';
import { asProblem } from '../api/problem';
import { useFeatures } from '../api/version';
import { openOverlay } from '../app/keys';
import { may, useRights } from '../app/rights';
import { navigate } from '../app/router';
import { logOut } from '../app/session';
import { densities, density, theme } from '../app/theme';
import { language, languages, t } from '../text/text';
import { toast } from '../ui/toast';
import { chooseLanguage } from './language-choice';
import { useMenu } from './menu';

export interface Command {
  id: string;
  group: string;
  /** Heading above results of a search. */
  section?: string;
  label: string;
  /** Shown beside the label, and searched, too. */
  hint?: string;
  icon?: IconNode;
  act: () => void;
}

const createUsers = { verb: 'create', resource: 'users' };
const createBindings = { verb: 'create', resource: 'userbindings' };

/** Returns the commands that contain the words; those that begin with them come first. */
export function useCommands(words: string): readonly Command[] {
  useRights([createUsers, createBindings]);
  const isOn = useFeatures();
  const known = [...usePages(), ...useKinds(), ...actions(isOn)];
  const wanted = wantedText(words).split(' ').filter(Boolean);
  const found = known
    .map((command) => ({ command, text: folded(`${command.label} ${command.hint ?? ''}`) }))
    .filter(({ text }) => wanted.every((word) => text.includes(word)));
  const isFirst = ({ text }: { text: string }) => (wanted[0] !== undefined && text.startsWith(wanted[0]) ? 0 : 1);
  // Kinds are many: without a word they would precede all other commands.
  const shown = wanted.length === 0 ? found.filter(({ command }) => command.group !== t('palette.kinds')) : found;
  return shown.sort((left, right) => isFirst(left) - isFirst(right)).map(({ command }) => command);
}

const usePages = (): Command[] =>
  useMenu().flatMap(({ label, entries }) =>
    entries.map(({ to, text, icon }) => ({
      id: to,
      group: t('palette.pages'),
      label: text,
      icon,
      ...(label && { hint: label }),
      act: () => navigate(to),
    })),
  );

function useKinds(): Command[] {
  const kinds = useLoad('kinds', fetchKinds).data.value ?? [];
  return kinds
    .filter((kind) => kind.isPreferred && isListable(kind))
    .map((kind) => ({
      id: pageOf(kind),
      group: t('palette.kinds'),
      label: kind.title,
      hint: [kind.group, ...kind.shortNames].filter(Boolean).join(' '),
      act: () => navigate(pageOf(kind)),
    }));
}

function actions(isOn: (feature: string) => boolean): Command[] {
  const group = t('palette.actions');
  const command = (id: string, label: string, act: () => void, icon?: IconNode): Command => ({
    id,
    group,
    label,
    act,
    ...(icon && { icon }),
  });
  return [
    ...(may(createUsers) ? [command('new user', t('users.new'), () => navigate('/users/new'), UserPlus)] : []),
    ...(isOn('userBindings') && may(createBindings)
      ? [command('new binding', t('bindings.new'), () => navigate('/bindings/new'), Link2)]
      : []),
    ...(['light', 'dark'] as const).map((choice) =>
      command(
        choice,
        `${t('shell.theme')}: ${t(`theme.${choice}`)}`,
        () => {
          theme.value = choice;
        },
        choice === 'light' ? Sun : Moon,
      ),
    ),
    ...densities.map((choice) =>
      command(choice, `${t('shell.density')}: ${t(`density.${choice}`)}`, () => {
        density.value = choice;
      }),
    ),
    ...Object.entries(languages.value)
      .filter(([id]) => id !== language.value)
      .map(([id, label]) => command(id, `${t('shell.language')}: ${label}`, () => chooseLanguage(id))),
    command('keys', t('keys.title'), () => openOverlay('keys'), Keyboard),
    command('log out', t('shell.logOut'), () => void logOut().catch((error: unknown) => toast('bad', asProblem(error).message)), LogOut),
  ];
}
