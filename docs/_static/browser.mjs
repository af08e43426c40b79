// The page docs/gallery.md: words in, cosines and tags out.

import { cosine, sentenceIds, splitWords } from "./elmo.mjs";

const LAYERS = ["word_emb", "lstm_outputs1", "lstm_outputs2"];
const PAUSE = 150; // Milliseconds after a key press.
const FILES = new URL("browser/", import.meta.url);

const page = document.getElementById("elmo");
const find = (selector) => page.querySelector(selector);
let ort, elmo, tagger, namer, labels;

const open = (name) => ort.InferenceSession.create(new URL(name, FILES).href);

/** Loads onnxruntime and the models, except for that of names. */
async function load() {
  ort = await import(new URL("ort.wasm.bundle.min.mjs", FILES));
  elmo = await open("elmo.onnx");
  tagger = await open("tagger.onnx");
  labels = await (await fetch(new URL("labels.json", FILES))).json();
}

/** Runs a model on a sentence, and shows the time that it took. */
async function run(session, words) {
  const shape = [1, words.length, 50];
  const ids = new ort.Tensor("int32", sentenceIds(words), shape);
  const start = performance.now();
  const outputs = await session.run({ ids });
  const time = Math.round(performance.now() - start);
  find("#elmo-time").textContent = `${words.length} words in ${time} ms`;
  return outputs;
}

/** The vectors of a sentence's words: a list for each layer. */
export async function embed(words) {
  const outputs = await run(elmo, words);
  return LAYERS.map((name) => {
    const { data, dims } = outputs[name];
    return words.map((_, i) => data.subarray(i * dims[2], (i + 1) * dims[2]));
  });
}

/** The names of the words' tags. */
export async function tag(words) {
  const outputs = await run(tagger, words);
  const numbers = outputs[tagger.outputNames[0]].data;
  return Array.from(numbers, (number) => labels.tagger[number]);
}

/** The named entities of a sentence, with their probabilities. */
export async function findNames(words) {
  namer ??= open("namer.onnx"); // Loaded once, when it is needed.
  const outputs = await run(await namer, words);
  const [tags, shares, lengths] = [
    outputs.tags.data,
    outputs.entity_probabilities.data,
    outputs.entity_lengths.data,
  ];
  return words.flatMap((_, start_word) => {
    if (!lengths[start_word]) return [];
    const type = labels.namer[tags[start_word]].slice(2);
    const end_word = start_word + lengths[start_word];
    return [{ type, start_word, end_word, probability: shares[start_word] }];
  });
}

const sentences = [...page.querySelectorAll(".elmo-sentence")].map((box) => ({
  input: box.querySelector("input"),
  choice: box.querySelector("fieldset"),
  word: box.dataset.word, // The word that is picked, and its place.
  place: -1,
}));

/** Shows a sentence's words to pick from, and makes their vectors. */
async function readSentence(sentence) {
  const { input, choice } = sentence;
  const words = splitWords(input.value);
  const layers = words.length ? await embed(words) : null;
  if (words[sentence.place] !== sentence.word) {
    sentence.place = Math.max(words.indexOf(sentence.word), 0);
  }
  const labels = words.map((word, i) => {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: `${input.id}-word`, value: i });
    radio.checked = i === sentence.place;
    label.append(radio, word);
    return label;
  });
  choice.replaceChildren(choice.firstElementChild, ...labels);
  Object.assign(sentence, { words, layers });
  compare();
}

/** Shows the cosine of the two picked words at each layer. */
function compare() {
  const isReady = sentences.every(({ layers }) => layers);
  page.querySelectorAll("[data-layer]").forEach((cell, layer) => {
    const vectors = () =>
      sentences.map(({ layers, place }) => layers[layer][place]);
    const value = isReady ? cosine(...vectors()) : NaN;
    cell.textContent = isReady ? value.toFixed(2) : "–";
    cell.style.setProperty("--share", Math.max(value, 0) || 0);
  });
}

/** A text with a note below it, in a colour. */
function annotated(text, name, turn) {
  const ruby = document.createElement("ruby");
  const note = document.createElement("rt");
  note.textContent = name;
  ruby.append(text, note);
  ruby.style.setProperty("--turn", `${turn}turn`);
  return ruby;
}

/** Shows the tag below each word. */
async function readTagged() {
  const words = splitWords(find("#elmo-text").value);
  const tags = words.length ? await tag(words) : [];
  const turn = (name) => labels.tagger.indexOf(name) / labels.tagger.length;
  const shown = tags.map((name, i) => annotated(words[i], name, turn(name)));
  find("#elmo-tags").replaceChildren(...shown);
}

/** Shows the type and the probability below each named entity. */
async function readNamed() {
  const words = splitWords(find("#elmo-names-text").value);
  const shown = [...words];
  const entities = words.length ? await findNames(words) : [];
  for (const { type, start_word, end_word, probability } of entities.reverse()) {
    const found = words.slice(start_word, end_word);
    const note = `${type} ${Math.round(100 * probability)}%`;
    const turn = ["PER", "LOC", "ORG"].indexOf(type) / 3;
    const node = annotated(found.join(" "), note, turn);
    shown.splice(start_word, found.length, node);
  }
  find("#elmo-names").replaceChildren(...shown);
}

/** Calls a function once typing has paused. */
function onTyping(input, update) {
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(update, PAUSE);
  });
  return update();
}

/** Starts the page; rejects if something could not be loaded. */
export async function start() {
  await load();
  for (const sentence of sentences) {
    sentence.choice.addEventListener("change", ({ target }) => {
      sentence.place = Number(target.value);
      sentence.word = sentence.words[sentence.place];
      compare();
    });
    await onTyping(sentence.input, () => readSentence(sentence));
  }
  await onTyping(find("#elmo-text"), readTagged);
  find("#elmo-names-text").addEventListener("focus", (event) =>
    onTyping(event.target, readNamed), { once: true });
}
