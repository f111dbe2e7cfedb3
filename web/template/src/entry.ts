import type { Context, Place, Plugin } from '../atrium-console';
import { fetchGroups, type Group, pricePerMember } from './costs';
import { cell, element, table } from './elements';

const groups = { group: 'auth.platform.io', resource: 'groups' };
const users = { group: 'auth.platform.io', resource: 'users' };
const listGroups = { verb: 'list', ...groups };

/** What the members of each group cost: a page with an entry in the menu, a part of each user's and group's page, and something to do with users. */
export const plugin: Plugin = {
  activate(console) {
    const money = (amount: number) =>
      new Intl.NumberFormat(console.language.value, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 }).format(amount);

    console.menu({ label: 'title', path: '', under: 'plugins', rights: [listGroups] });
    console.page('', { title: 'title', mount: (host, place) => showGroups(console, money, host, place) });
    console.tab({ ...groups, label: 'costs', mount: (host, place) => showGroup(console, money, host, place) });
    console.tab({ ...users, label: 'costs', mount: (host, place) => showUser(console, money, host, place) });
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

type Money = (amount: number) => string;

async function showGroups(console: Context, money: Money, host: HTMLElement, { signal }: Place): Promise<void> {
  const found = await fetchGroups(console.api, signal);
  const total = found.reduce((sum, group) => sum + costOf(group), 0);
  host.append(
    element('p', console.t('what', { price: money(pricePerMember) }), 'muted'),
    table(
      [console.t('group'), console.t('members'), console.t('month')],
      found.map((group) => [
        cell(group.spec.displayName || group.metadata.name),
        cell(membersOf(group)),
        element('td', money(costOf(group)), 'number'),
      ]),
    ),
    element('p', console.t('total', { sum: money(total) }), 'strong total'),
  );
}

async function showGroup(console: Context, money: Money, host: HTMLElement, { ref, signal }: Place): Promise<void> {
  const group = (await fetchGroups(console.api, signal)).find(({ metadata }) => metadata.name === ref?.name);
  host.append(element('p', console.t('total', { sum: money(group ? costOf(group) : 0) })));
}

async function showUser(console: Context, money: Money, host: HTMLElement, { ref, signal }: Place): Promise<void> {
  const [mayList] = await console.api.may([listGroups]);
  if (!mayList) {
    host.append(element('p', console.t('refused'), 'muted'));
    return;
  }
  const mine = (await fetchGroups(console.api, signal)).filter(({ spec }) => spec.users?.some(({ name }) => name === ref?.name));
  const sum = money(mine.length * pricePerMember);
  host.append(element('p', console.t('user', { count: mine.length, sum })));
}

const membersOf = ({ spec }: Group): number => spec.users?.length ?? 0;
const costOf = (group: Group): number => membersOf(group) * pricePerMember;
