//! The objects of some packs, by their digests, wherever the packs lie.
//!
//! Which packs there are is looked at when it is first needed, when they are surveyed, and when somebody says so; not at every
//! object. A survey reads every pack whole. Without one, an index says where objects are, and where it misleads the pack is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use eval_model::ids::Digest;

use super::PackError;
use super::catalog::{Catalog, Place};
use super::header::{Header, PackName};
use super::index;
use super::scan::{Seen, scan};
use super::span::Span;
use crate::files::FileError;
use crate::store::ReadObjectError;

/// How many packs are held open at a time: a store has one for each run that brought something new.
const OPEN_AT_ONCE: usize = 16;

/// Where packs lie.
pub(crate) trait Shelf: fmt::Debug + Sync {
    fn names(&self) -> Result<Vec<PackName>, FileError>;

    fn open(&self, name: PackName) -> Result<Span, FileError>;

    /// What lies beside a pack as its index, if anything of at most this size does. It is a hint, so what cannot be read is as good
    /// as nothing.
    fn index(&self, name: PackName, most: u64) -> Option<Vec<u8>>;

    /// For messages.
    fn path(&self, name: PackName) -> PathBuf;
}

/// How many changed objects of a pack are named. The others are counted.
const MOST_NAMED: usize = 16;

/// Something that a survey found wrong.
#[derive(Debug)]
pub(crate) struct PackFinding {
    pub(crate) pack: PackName,
    pub(crate) defect: PackDefect,
}

#[derive(Debug)]
pub(crate) enum PackDefect {
    Pack(PackError),
    /// One object of it is not what its header says.
    Object(ReadObjectError),
    /// And so many more.
    MoreObjects(usize),
}

#[derive(Debug)]
pub(crate) struct Library<S> {
    shelf: S,
    /// `None` until somebody looks.
    known: RwLock<Option<Known>>,
    open: Mutex<Vec<(PackName, Arc<Span>)>>,
}

#[derive(Debug, Default)]
struct Known {
    packs: Vec<KnownPack>,
    names: BTreeSet<PackName>,
    /// Of how many packs an index is all that is known.
    indexed: usize,
    catalog: Catalog,
    /// What those objects hash to that are not what their headers say, by pack and place.
    changed: BTreeMap<(u32, u64), Digest>,
}

#[derive(Debug)]
struct KnownPack {
    name: PackName,
    /// Whether all of it was read and hashed. Else an index is all that is known.
    was_read: bool,
}

/// What a look at the places of an object came to.
enum Looked<T> {
    Found(T),
    Missing,
}

impl<S: Shelf> Library<S> {
    pub(crate) fn new(shelf: S) -> Self {
        Self { shelf, known: RwLock::new(None), open: Mutex::new(Vec::new()) }
    }

    pub(crate) fn shelf(&self) -> &S {
        &self.shelf
    }

    /// Reads every pack whole, shows what is in it, and says what is wrong with which.
    pub(crate) fn survey(&self, mut visit: impl FnMut(Digest)) -> Result<Vec<PackFinding>, FileError> {
        let (mut known, mut places, mut findings) = (Known::default(), Vec::new(), Vec::new());
        self.open().clear();
        for name in self.shelf.names()? {
            let number = known.add(name, true);
            let mut changed = 0;
            let outcome = self.read_pack(name, |seen| {
                visit(seen.header.digest);
                places.push(Place::new(seen.header.digest, number, seen.offset));
                if seen.found != seen.header.digest {
                    known.changed.insert((number, seen.offset), seen.found);
                    changed += 1;
                    if changed <= MOST_NAMED {
                        let changed = ReadObjectError::Changed { digest: seen.header.digest, found: seen.found };
                        findings.push(PackFinding { pack: name, defect: PackDefect::Object(changed) });
                    }
                }
            });
            if changed > MOST_NAMED {
                findings.push(PackFinding { pack: name, defect: PackDefect::MoreObjects(changed - MOST_NAMED) });
            }
            if let Err(error) = outcome {
                findings.push(PackFinding { pack: name, defect: PackDefect::Pack(error) });
            }
        }
        known.catalog.add(places);
        *self.known_mut() = Some(known);
        Ok(findings)
    }

    /// Looks for packs that came since the last look, and says how many there are.
    pub(crate) fn refresh(&self) -> Result<usize, FileError> {
        let names = self.shelf.names()?;
        let mut guard = self.known_mut();
        let known = guard.get_or_insert_default();
        let fresh: Vec<_> = names.into_iter().filter(|name| !known.names.contains(name)).collect();
        let places: Vec<_> = fresh.iter().flat_map(|name| self.learn(known, *name)).collect();
        known.catalog.add(places);
        Ok(known.packs.len())
    }

    /// Takes in a pack that its caller has just written.
    pub(crate) fn add(&self, name: PackName, places: &[Place]) {
        let mut guard = self.known_mut();
        let known = guard.get_or_insert_default();
        let number = known.add(name, true);
        known.catalog.add(places.iter().map(|place| Place { pack: number, ..*place }));
    }

    /// Whether an object is there and is what its name says.
    pub(crate) fn check(&self, digest: Digest) -> Result<(), ReadObjectError> {
        self.look(digest, |known, span, place| {
            let Some(_) = span.header_at(place.offset, digest)? else { return Ok(None) };
            if known.packs[place.pack as usize].was_read {
                let changed = known.changed.get(&(place.pack, place.offset));
                return Ok(Some(changed.map_or(Ok(()), |found| Err(*found))));
            }
            Ok(span.content_at(place.offset, digest)?.map(|content| hashes_to(digest, &content)))
        })
    }

    /// The content of an object.
    pub(crate) fn read(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        self.look(digest, |_, span, place| {
            let content = span.content_at(place.offset, digest)?;
            Ok(content.map(|content| hashes_to(digest, &content).map(|()| content)))
        })
    }

    /// What the header of an object says, which is all that is read of it.
    pub(crate) fn header(&self, digest: Digest) -> Result<Header, ReadObjectError> {
        self.look(digest, |_, span, place| Ok(span.header_at(place.offset, digest)?.map(Ok)))
    }

    /// Asks each place of an object, until one of them has it as it should be. `ask` gives nothing where a place has no such object,
    /// and the hash of what is there where that is something else.
    fn look<T>(
        &self,
        digest: Digest,
        ask: impl Fn(&Known, &Span, &Place) -> io::Result<Option<Result<T, Digest>>>,
    ) -> Result<T, ReadObjectError> {
        self.begin().map_err(|source| ReadObjectError::Io { digest, source })?;
        if let Looked::Found(found) = self.look_once(digest, &ask)? {
            return Ok(found);
        }
        // An index may say nothing of what is there.
        if self.read_what_is_indexed()
            && let Looked::Found(found) = self.look_once(digest, &ask)?
        {
            return Ok(found);
        }
        Err(ReadObjectError::Missing { digest })
    }

    fn look_once<T>(
        &self,
        digest: Digest,
        ask: &impl Fn(&Known, &Span, &Place) -> io::Result<Option<Result<T, Digest>>>,
    ) -> Result<Looked<T>, ReadObjectError> {
        let guard = self.known();
        let Some(known) = guard.as_ref() else { return Ok(Looked::Missing) };
        // One pack that cannot be read hides nothing that another has.
        let mut wrong = None;
        for place in known.catalog.of(digest) {
            let name = known.packs[place.pack as usize].name;
            let read = |error| FileError::io("read", &self.shelf.path(name), error);
            let asked = self.span(name).and_then(|span| ask(known, &span, place).map_err(read));
            match asked {
                Ok(Some(Ok(found))) => return Ok(Looked::Found(found)),
                Ok(Some(Err(found))) => wrong = Some(ReadObjectError::Changed { digest, found }),
                Ok(None) => {}
                Err(source) => wrong = wrong.or(Some(ReadObjectError::Io { digest, source })),
            }
        }
        wrong.map_or(Ok(Looked::Missing), Err)
    }

    fn begin(&self) -> Result<(), FileError> {
        if self.known().is_none() {
            self.refresh()?;
        }
        Ok(())
    }

    /// Learns where the objects of a pack are: from its index, or else from itself.
    fn learn(&self, known: &mut Known, name: PackName) -> Vec<Place> {
        let size = self.shelf.open(name).map(|span| span.size());
        let index = self.shelf.index(name, index::most_bytes(size.unwrap_or(0)));
        let number = known.add(name, index.is_none());
        match index.and_then(|bytes| index::decode(&bytes, number)) {
            Some(places) => places,
            None => self.places_in(known, number, name),
        }
    }

    /// Reads those packs whole of which only an index is known, and says whether there were any.
    fn read_what_is_indexed(&self) -> bool {
        if self.known().as_ref().is_none_or(|known| known.indexed == 0) {
            return false;
        }
        let mut guard = self.known_mut();
        let Some(known) = guard.as_mut() else { return false };
        let indexed: Vec<_> = known.packs.iter().map(|pack| !pack.was_read).collect();
        known.catalog.forget(|pack| indexed[pack as usize]);
        let mut places = Vec::new();
        for number in 0..known.packs.len() {
            let KnownPack { name, was_read: false } = known.packs[number] else { continue };
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            places.extend(self.places_in(known, number, name));
        }
        known.catalog.add(places);
        true
    }

    /// What a pack holds as far as it can be read. What is wrong with it is a survey's to say: here its objects are missing.
    fn places_in(&self, known: &mut Known, number: u32, name: PackName) -> Vec<Place> {
        known.note_read(number);
        let (mut places, changed) = (Vec::new(), &mut known.changed);
        let _ = self.read_pack(name, |seen| {
            places.push(Place::new(seen.header.digest, number, seen.offset));
            if seen.found != seen.header.digest {
                changed.insert((number, seen.offset), seen.found);
            }
        });
        places
    }

    /// Reads a pack whole, and holds it to its name.
    fn read_pack(&self, name: PackName, mut visit: impl FnMut(Seen)) -> Result<(), PackError> {
        let span = self.shelf.open(name).map_err(PackError::File)?;
        match scan(&span, &mut visit)? {
            found if found == name => Ok(()),
            expected => Err(PackError::Misnamed { expected }),
        }
    }

    fn span(&self, name: PackName) -> Result<Arc<Span>, FileError> {
        let mut open = self.open();
        if let Some((_, span)) = open.iter().find(|(other, _)| *other == name) {
            return Ok(span.clone());
        }
        let span = Arc::new(self.shelf.open(name)?);
        if open.len() == OPEN_AT_ONCE {
            open.remove(0);
        }
        open.push((name, span.clone()));
        Ok(span)
    }

    // What is behind these locks is whole whenever they are free, whatever a thread did that held one.

    fn open(&self) -> MutexGuard<'_, Vec<(PackName, Arc<Span>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> RwLockReadGuard<'_, Option<Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Option<Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn add(&mut self, name: PackName, was_read: bool) -> u32 {
        let number = u32::try_from(self.packs.len()).unwrap_or(u32::MAX);
        self.packs.push(KnownPack { name, was_read });
        self.names.insert(name);
        self.indexed += usize::from(!was_read);
        number
    }

    fn note_read(&mut self, number: u32) {
        let pack = &mut self.packs[number as usize];
        self.indexed -= usize::from(!pack.was_read);
        pack.was_read = true;
    }
}

fn hashes_to(digest: Digest, content: &[u8]) -> Result<(), Digest> {
    match Digest::of(content) {
        found if found == digest => Ok(()),
        found => Err(found),
    }
}
