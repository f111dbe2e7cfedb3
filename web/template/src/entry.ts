import type { Components, Context, Place, Plugin } from '../atrium-console';
import { costOf, fetchGroups, type Group, membersOf, pricePerMember } from './costs';

const groups = { group: 'auth.platform.io', resource: 'groups' };
const users = { group: 'auth.platform.io', resource: 'users' };
const listGroups = { verb: 'list', ...groups };

/** Costs of the members of each group: a page with an entry in the menu, a tab of each user and group, and an action on users. */
export const plugin: Plugin = {
  async activate(console) {
    const ui = await console.components();
    const money = (amount: number) =>
      new Intl.NumberFormat(console.language.value, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 }).format(amount);
    const parts: Parts = { console, ui, money };

    console.menu({ label: 'title', path: '', under: 'plugins', rights: [listGroups] });
    console.page('', { title: 'title', mount: (host) => showGroups(parts, host) });
    console.tab({ ...groups, label: 'costs', mount: (host, place) => showGroup(parts, host, place) });
    console.tab({ ...users, label: 'costs', mount: (host, place) => showUser(parts, host, place) });
    console.action({
      ...users,
      label: 'sum',
      rights: [{ verb: 'get', ...users }],
      async run(objects) {
        console.notify('ok', console.t('sumIs', { count: objects.length, sum: money(objects.length * pricePerMember) }));
      },
    });
  },
};

interface Parts {
  console: Context;
  ui: Components;
  money: (amount: number) => string;
}

function showGroups({ console: { api, t }, ui, money }: Parts, host: HTMLElement): void {
  ui.load(
    host,
    (signal) => fetchGroups(api, signal),
    (place, found) => {
      place.append(paragraph(t('what', { price: money(pricePerMember) }), 'muted'));
      ui.table<Group>(place, {
        label: t('title'),
        rows: found,
        idOf: ({ metadata }) => metadata.name,
        empty: t('none'),
        columns: [
          { title: t('group'), cell: linkTo, sortBy: titleOf },
          { title: t('members'), isNumber: true, cell: membersOf, sortBy: membersOf },
          { title: t('month'), isNumber: true, cell: (group) => money(costOf(group)), sortBy: costOf },
        ],
      });
      place.append(paragraph(t('total', { sum: money(found.reduce((sum, group) => sum + costOf(group), 0)) }), 'strong total'));
    },
  );
}

function showGroup({ console: { api, t }, ui, money }: Parts, host: HTMLElement, { ref }: Place): void {
  ui.load(
    host,
    (signal) => fetchGroups(api, signal),
    (place, found) => {
      const group = found.find(({ metadata }) => metadata.name === ref?.name);
      place.append(paragraph(t('total', { sum: money(group ? costOf(group) : 0) })));
    },
  );
}

function showUser({ console: { api, t }, ui, money }: Parts, host: HTMLElement, { ref }: Place): void {
  ui.load(
    host,
    (signal) => fetchGroups(api, signal),
    (place, found) => {
      const count = found.filter(({ spec }) => spec.users?.some(({ name }) => name === ref?.name)).length;
      place.append(paragraph(t('user', { count, sum: money(count * pricePerMember) })));
    },
  );
}

const titleOf = ({ metadata, spec }: Group): string => spec.displayName || metadata.name;
const linkTo = (group: Group) => ({ text: titleOf(group), to: `/groups/${group.metadata.name}` });

/** The policy of the console refuses `innerHTML`: elements are created, and texts are set. */
function paragraph(text: string, className = ''): HTMLParagraphElement {
  const made = document.createElement('p');
  made.textContent = text;
  made.className = className;
  return made;
}
