import { expect } from 'chai';
import { indentJson, openJson } from '../../../web/src/pages/cluster/logs/log-json.ts';
import { type Block, LogMerge, type MergedLine } from '../../../web/src/pages/cluster/logs/log-merge.ts';

const line = (source: number, key: string, text = `${source}:${key}`): MergedLine => ({ source, key, text, time: key });
const make = (lines = 1000, characters = 1_000_000) => new LogMerge<Block>(() => ({ lines: [], characters: 0 }), { lines, characters });
const texts = (merge: LogMerge<Block>) => merge.blocks.flatMap((block) => block.lines.map(({ text }) => text));

describe('the merge of several logs', () => {
  it('sorts late lines of one source between lines of another', () => {
    const merge = make();
    merge.add(['1', '3', '5'].map((key) => line(0, key)));
    merge.add(['2', '4', '6'].map((key) => line(1, key)));

    expect(texts(merge)).to.deep.equal(['0:1', '1:2', '0:3', '1:4', '0:5', '1:6']);
  });

  it('keeps the order of a source whose clock goes back, and of lines of the same time', () => {
    const merge = make();
    merge.add([line(0, '5', 'a'), line(0, '3', 'b'), line(0, '5', 'c')]);
    merge.add([line(1, '4', 'd')]);

    expect(texts(merge)).to.deep.equal(['d', 'a', 'b', 'c']);
  });

  it('sorts 20 histories of 1,000 lines that come after each other', () => {
    const merge = make(50_000);
    for (let source = 0; source < 20; source += 1)
      merge.add(Array.from({ length: 1000 }, (_, index) => line(source, String(index * 20 + source).padStart(6, '0'))));
    const keys = merge.blocks.flatMap((block) => block.lines.map(({ key }) => key));

    expect(keys).to.have.lengthOf(20_000);
    expect(keys).to.deep.equal(keys.toSorted());
    expect(Math.max(...merge.blocks.map(({ lines }) => lines.length))).to.be.at.most(400);
  });

  it('drops the oldest blocks at the limit of lines and of characters', () => {
    const merge = make(1000, 50_000);
    const many = Array.from({ length: 3000 }, (_, index) => line(0, String(index).padStart(6, '0')));
    const { touched, removed } = merge.add(many);

    expect(merge.blocks.reduce((sum, { lines }) => sum + lines.length, 0)).to.be.within(1000, 1200);
    expect(texts(merge).at(-1)).to.equal('0:002999');
    expect([...touched].filter((block) => removed.includes(block))).to.deep.equal([]);
    merge.add([line(0, '1', 'x'.repeat(60_000)), line(0, '2', 'y'), ...many.slice(0, 500)]);
    expect(merge.blocks.reduce((sum, { characters }) => sum + characters, 0)).to.be.at.most(70_000);
  });

  it('forgets the lines of one source', () => {
    const merge = make();
    merge.add([line(0, '1'), line(1, '2'), line(0, '3')]);
    merge.forget(0);

    expect(texts(merge)).to.deep.equal(['1:2']);
  });
});

describe('JSON in a log', () => {
  it('is shown with a line for each member and the digits of the source', () => {
    const text = '{"a":1.10,"b":[12345678901234567890,{}],"c":"x: {\\"y\\", [1]}","d":{"e":null}}';

    expect(openJson(text)).to.equal(
      '{\n  "a": 1.10,\n  "b": [\n    12345678901234567890,\n    {}\n  ],\n  "c": "x: {\\"y\\", [1]}",\n  "d": {\n    "e": null\n  }\n}',
    );
  });

  it('indents an object or array with each digit and each member of the source, also a long one', () => {
    expect(indentJson(' [9007199254740993, {"a":1.50,"a":1e3}, [], "\\u00e9"]\n')).to.equal(
      '[\n  9007199254740993,\n  {\n    "a": 1.50,\n    "a": 1e3\n  },\n  [],\n  "\\u00e9"\n]',
    );
    const long = `[\n  "${'x'.repeat(1_500_000)}"\n]`;
    expect(indentJson(long)).to.equal(long);
    for (const text of ['', '1', '"a"', '[1', 'name: [1]']) expect(indentJson(text), text).to.equal(undefined);
  });

  it('leaves other lines as they are', () => {
    for (const text of ['plain', '{broken', '{a: 1}', '[1, 2]', '{} {}']) expect(openJson(text)).to.equal(text);
  });
});
