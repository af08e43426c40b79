// Tags sentences with an exported tagger, in Node.js. In this file's folder:
//
//   npm install --ignore-scripts onnxruntime-node
//   node tag.mjs ner.onnx < sentences.txt
//
// Each line of the input is a sentence, with spaces between its words. The
// output is the same as that of `keras-elmo tag ner.keras - -`; with --json at
// the end, as that of `keras-elmo tag ner.keras - out.jsonl`: objects with the
// entities and their probabilities.

import { existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { InferenceSession, Tensor } from "onnxruntime-node";

const WORD = /[^ \t\n\r\v\f]+/g;
const BOUNDARIES = new Map([["<S>", [257]], ["</S>", [258]]]);

/** Yields the number and the bytes of each field of a protobuf message. */
function* fields(bytes, at = 0) {
  const int = () => (bytes[at] & 127) + (bytes[at++] > 127 ? 128 * int() : 0);
  while (at < bytes.length) {
    const [tag, size] = [int(), int()]; // Or the value, if it is an integer.
    if (tag % 8 === 2) yield [tag >> 3, bytes.subarray(at, (at += size))];
  }
}

/** The ids of a word: its UTF-8 bytes plus one, between two marks. */
function wordIds(word, chars) {
  if (word === null) return Array(chars).fill(0); // Padding.
  const bytes = [...Buffer.from(word)].slice(0, chars - 2);
  const codes = BOUNDARIES.get(word) ?? bytes.map((byte) => byte + 1);
  return Object.assign(Array(chars).fill(261), [259, ...codes, 260]);
}

const path = process.argv[2] ?? "";
const file = existsSync(path) ? readFileSync(path) : [];
const isLabels = ([number, x]) => number === 14 && x.includes("_tag_names");
const metadata = [...fields(file)].filter(isLabels); // The session lacks it.
const session = metadata.length && (await InferenceSession.create(file));
const outputs = session ? session.outputMetadata : [];
const found = metadata
  .map(([, bytes]) => [...fields(bytes)].map(([, x]) => `${x}`))
  .map(([key, names]) => [key.slice(0, -10), names])
  // Others are the labels of whole sentences.
  .find(([key]) => outputs.some((x) => x.name === key && x.shape[1] === "time"));
if (!found || !["--json", undefined].includes(process.argv[3])) {
  console.error("Usage: node tag.mjs EXPORTED_TAGGER.onnx [--json] < SENTENCES");
  process.exit(2);
}
const [key, names] = found;
const labels = JSON.parse(names);
const chars = session.inputMetadata[0].shape[2];
const best = (x) => (x.length > 1 ? x.indexOf(Math.max(...x)) : x[0]);
const isJson = process.argv[3] === "--json";

/** Where each word begins and ends in a text, in Unicode code points. */
function charSpans(text) {
  let [at, count] = [0, 0];
  const countTo = (end) => {
    count += [...text.slice(at, end)].length;
    at = end;
    return count;
  };
  return [...text.matchAll(WORD)].map(({ 0: word, index }) => [
    countTo(index),
    countTo(index + word.length),
  ]);
}

/** The entities of a sentence, whose words begin at place `first`. */
function findEntities(results, { text, tags }, first) {
  const spans = charSpans(text);
  return tags.flatMap((tag, start_word) => {
    const length = results.entity_lengths.data[first + start_word];
    if (!length) return [];
    const end_word = start_word + length;
    return [
      {
        type: tag.slice(2),
        start_word,
        end_word,
        start_char: spans[start_word][0],
        end_char: spans[end_word - 1][1],
        probability: results.entity_probabilities.data[first + start_word],
      },
    ];
  });
}

const lines = (await text(process.stdin)).match(/[^\n]*\n|[^\n]+$/g) ?? [];
const texts = lines.map((line) => line.replace(/\r?\n$/, ""));
const sentences = lines.map((line) => line.match(WORD) ?? []);
while (sentences.length) {
  const batch = sentences.splice(0, 32);
  const time = Math.max(...batch.map((words) => words.length));
  const slots = batch.flatMap((x) => Object.assign(Array(time).fill(null), x));
  const ids = slots.flatMap((word) => wordIds(word, chars));
  const feeds = { ids: new Tensor("int32", ids, [batch.length, time, chars]) };
  const results = await session.run(feeds);
  const { data, dims } = results[key];
  const size = dims[2] ?? 1; // Of a word's scores.
  const label = (k) => labels[best(data.subarray(k * size, (k + 1) * size))];
  batch.forEach((words, i) => {
    const tags = words.map((_, j) => label(i * time + j));
    const found = { text: texts.shift(), words, tags };
    if (isJson && results.entity_lengths)
      found.entities = findEntities(results, found, i * time);
    const columns = () => words.map((x, j) => `${x}\t${tags[j]}\n`).join("");
    console.log(isJson ? JSON.stringify(found) : columns());
  });
}
