//! `wasi:filesystem` over the scratch tree: one preopen at `/`, and no descriptor of the host behind any handle.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, Filesize,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::sync::io::streams::{InputStream, OutputStream};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi_io::bindings::wasi::io::error::Error;

use super::streams::{CHUNK_MAX, Input, Output, StreamFailure};
use crate::guest::Guest;
use crate::scratch::{At, Errno, FileType, Inode, Open, Stat};

/// What a guest holds as a descriptor.
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    inode: Inode,
    read: bool,
    /// For a file, that its bytes can be written; for a directory, that it is the preopen.
    write: bool,
}

/// A listing under way.
#[derive(Debug)]
struct Listing {
    directory: Inode,
    /// The name that was given last.
    after: Option<String>,
}

/// The upper half of every metadata hash, so that the two halves of one are not alike.
const METADATA_HASH_UPPER: u64 = 0x6576_616c_2d68_6f73;

pub(super) fn error_code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::BadDescriptor => ErrorCode::BadDescriptor,
        Errno::Busy => ErrorCode::Busy,
        Errno::Exist => ErrorCode::Exist,
        Errno::InsufficientSpace => ErrorCode::InsufficientSpace,
        Errno::Invalid => ErrorCode::Invalid,
        Errno::IsDirectory => ErrorCode::IsDirectory,
        Errno::Loop => ErrorCode::Loop,
        Errno::NameTooLong => ErrorCode::NameTooLong,
        Errno::NoEntry => ErrorCode::NoEntry,
        Errno::NotDirectory => ErrorCode::NotDirectory,
        Errno::NotEmpty => ErrorCode::NotEmpty,
        Errno::NotPermitted => ErrorCode::NotPermitted,
    }
}

fn fs_error(errno: Errno) -> FsError {
    error_code(errno).into()
}

/// Why a file cannot be read from `offset`: Linux looks at the offset before it looks at the mode.
pub(super) fn unreadable(readable: bool, offset: u64) -> Option<ErrorCode> {
    match i64::try_from(offset) {
        Err(_) => Some(ErrorCode::Invalid),
        Ok(_) => (!readable).then_some(ErrorCode::BadDescriptor),
    }
}

/// Why a file cannot be written there.
pub(super) fn unwritable(writable: bool, at: At) -> Option<ErrorCode> {
    match at {
        At::Offset(offset) => unreadable(writable, offset),
        At::End => (!writable).then_some(ErrorCode::BadDescriptor),
    }
}

fn descriptor_type(file_type: FileType) -> DescriptorType {
    match file_type {
        FileType::File => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
    }
}

fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

impl Guest {
    fn descriptor(&mut self, fd: &Resource<types::Descriptor>) -> FsResult<Descriptor> {
        self.note_call(0);
        Ok(*super::entry(&self.table, fd)?)
    }

    fn directory(&mut self, fd: &Resource<types::Descriptor>) -> FsResult<Inode> {
        let descriptor = self.descriptor(fd)?;
        match self.scratch.file_type(descriptor.inode) {
            FileType::Directory => Ok(descriptor.inode),
            _ => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file(&mut self, fd: &Resource<types::Descriptor>) -> FsResult<Descriptor> {
        let descriptor = self.descriptor(fd)?;
        match self.scratch.file_type(descriptor.inode) {
            FileType::Directory => Err(ErrorCode::BadDescriptor.into()),
            _ => Ok(descriptor),
        }
    }

    fn push_descriptor(&mut self, descriptor: Descriptor) -> FsResult<Resource<types::Descriptor>> {
        let handle = super::push(&mut self.table, descriptor)?;
        self.scratch.hold(descriptor.inode);
        Ok(handle)
    }

    fn push_output(&mut self, descriptor: Descriptor, at: At) -> FsResult<Resource<OutputStream>> {
        let Descriptor { inode, write: writable, .. } = descriptor;
        let handle = super::push(&mut self.table, Output::File { inode, at, writable, closed: false })?;
        self.scratch.hold(inode);
        Ok(handle)
    }

    fn descriptor_stat(&self, stat: Stat) -> DescriptorStat {
        let time = Some(Datetime::from(self.clock.start()));
        DescriptorStat {
            type_: descriptor_type(stat.file_type),
            link_count: stat.links,
            size: stat.size,
            data_access_timestamp: time,
            data_modification_timestamp: time,
            status_change_timestamp: time,
        }
    }

    fn resolve_at(&mut self, fd: &Resource<types::Descriptor>, flags: PathFlags, path: &str) -> FsResult<Inode> {
        self.note_call(path.len());
        let base = self.directory(fd)?;
        self.scratch.resolve(base, path, follows(flags)).map_err(fs_error)
    }
}

fn metadata_hash(inode: Inode) -> MetadataHashValue {
    MetadataHashValue { lower: inode.identity(), upper: METADATA_HASH_UPPER }
}

/// What `open-at`'s flags ask of the tree, and the modes of the descriptor that comes of it.
fn open_how(path_flags: PathFlags, open_flags: OpenFlags, flags: DescriptorFlags) -> Result<(Open, bool), ErrorCode> {
    let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
        | DescriptorFlags::DATA_INTEGRITY_SYNC
        | DescriptorFlags::REQUESTED_WRITE_SYNC;
    if flags.intersects(synchronous) {
        return Err(ErrorCode::Unsupported);
    }
    let how = Open {
        follow: follows(path_flags),
        create: open_flags.contains(OpenFlags::CREATE),
        exclusive: open_flags.contains(OpenFlags::EXCLUSIVE),
        truncate: open_flags.contains(OpenFlags::TRUNCATE),
        directory: open_flags.contains(OpenFlags::DIRECTORY),
        write: flags.contains(DescriptorFlags::WRITE),
    };
    if how.directory && (how.create || how.exclusive || how.truncate) {
        return Err(ErrorCode::Invalid);
    }
    let read = flags.contains(DescriptorFlags::READ) || !how.write;
    Ok((how, read))
}

impl preopens::Host for Guest {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<types::Descriptor>, String)>> {
        self.note_call(0);
        let root = Descriptor { inode: self.scratch.root(), read: true, write: true };
        let handle = super::push(&mut self.table, root)?;
        self.scratch.hold(root.inode);
        Ok(vec![(handle, "/".to_owned())])
    }
}

impl types::Host for Guest {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<types::ErrorCode> {
        Ok(error.downcast()?.into())
    }

    fn filesystem_error_code(&mut self, error: Resource<Error>) -> wasmtime::Result<Option<types::ErrorCode>> {
        self.note_call(0);
        let StreamFailure(code) = super::entry(&self.table, &error)?;
        Ok(Some((*code).into()))
    }
}

impl types::HostDescriptor for Guest {
    fn read_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<InputStream>> {
        let Descriptor { inode, read: readable, .. } = self.descriptor(&fd)?;
        if self.scratch.file_type(inode) == FileType::Directory {
            return Err(ErrorCode::IsDirectory.into());
        }
        let handle = super::push(&mut self.table, Input::File { inode, offset, readable, closed: false })?;
        self.scratch.hold(inode);
        Ok(handle)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<OutputStream>> {
        let file = self.file(&fd)?;
        self.push_output(file, At::Offset(offset))
    }

    fn append_via_stream(&mut self, fd: Resource<types::Descriptor>) -> FsResult<Resource<OutputStream>> {
        let file = self.file(&fd)?;
        self.push_output(file, At::End)
    }

    fn advise(
        &mut self,
        fd: Resource<types::Descriptor>,
        _offset: Filesize,
        _length: Filesize,
        _advice: Advice,
    ) -> FsResult<()> {
        self.file(&fd)?;
        Ok(())
    }

    fn sync_data(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        self.descriptor(&fd)?;
        Ok(())
    }

    fn get_flags(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorFlags> {
        let descriptor = self.descriptor(&fd)?;
        let write = match self.scratch.file_type(descriptor.inode) {
            _ if !descriptor.write => DescriptorFlags::empty(),
            FileType::Directory => DescriptorFlags::MUTATE_DIRECTORY,
            _ => DescriptorFlags::WRITE,
        };
        let read = if descriptor.read { DescriptorFlags::READ } else { DescriptorFlags::empty() };
        Ok(read | write)
    }

    fn get_type(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorType> {
        let inode = self.descriptor(&fd)?.inode;
        Ok(descriptor_type(self.scratch.file_type(inode)))
    }

    fn set_size(&mut self, fd: Resource<types::Descriptor>, size: Filesize) -> FsResult<()> {
        let file = self.file(&fd)?;
        if !file.write {
            return Err(ErrorCode::Invalid.into());
        }
        self.scratch.set_size(file.inode, size).map_err(fs_error)
    }

    fn set_times(
        &mut self,
        fd: Resource<types::Descriptor>,
        _accessed: NewTimestamp,
        _modified: NewTimestamp,
    ) -> FsResult<()> {
        self.descriptor(&fd)?;
        Ok(())
    }

    fn read(
        &mut self,
        fd: Resource<types::Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let file = self.file(&fd)?;
        if let Some(code) = unreadable(file.read, offset) {
            return Err(code.into());
        }
        let bytes = self.scratch.read(file.inode, offset, length.min(CHUNK_MAX)).map_err(fs_error)?;
        Ok((bytes.to_vec(), bytes.is_empty()))
    }

    fn write(&mut self, fd: Resource<types::Descriptor>, buffer: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.note_call(buffer.len());
        let file = self.file(&fd)?;
        let at = At::Offset(offset);
        if let Some(code) = unwritable(file.write, at) {
            return Err(code.into());
        }
        self.scratch.write(file.inode, at, &buffer).map_err(fs_error)?;
        Ok(buffer.len() as u64)
    }

    fn read_directory(&mut self, fd: Resource<types::Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let directory = self.directory(&fd)?;
        let handle = super::push(&mut self.table, Listing { directory, after: None })?;
        self.scratch.hold(directory);
        Ok(handle)
    }

    fn sync(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        self.descriptor(&fd)?;
        Ok(())
    }

    fn create_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        self.scratch.create_directory(base, &path).map_err(fs_error)
    }

    fn stat(&mut self, fd: Resource<types::Descriptor>) -> FsResult<DescriptorStat> {
        let inode = self.descriptor(&fd)?.inode;
        Ok(self.descriptor_stat(self.scratch.stat(inode)))
    }

    fn stat_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let inode = self.resolve_at(&fd, path_flags, &path)?;
        Ok(self.descriptor_stat(self.scratch.stat(inode)))
    }

    fn set_times_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: PathFlags,
        path: String,
        _accessed: NewTimestamp,
        _modified: NewTimestamp,
    ) -> FsResult<()> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        self.scratch.check_set_times(base, &path, follows(path_flags)).map_err(fs_error)
    }

    fn link_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        old_path_flags: PathFlags,
        old_path: String,
        new_descriptor: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.note_call(old_path.len() + new_path.len());
        let from = self.directory(&fd)?;
        let to = self.directory(&new_descriptor)?;
        if follows(old_path_flags) {
            return Err(ErrorCode::Invalid.into());
        }
        self.scratch.link(from, &old_path, to, &new_path).map_err(fs_error)
    }

    fn open_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<types::Descriptor>> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        let (how, read) = open_how(path_flags, open_flags, flags)?;
        let inode = self.scratch.open(base, &path, how).map_err(fs_error)?;
        self.push_descriptor(Descriptor { inode, read, write: how.write || how.create || how.truncate })
    }

    fn readlink_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<String> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        let target = self.scratch.readlink(base, &path).map_err(fs_error)?;
        self.note_call(target.len());
        Ok(target)
    }

    fn remove_directory_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        self.scratch.remove_directory(base, &path).map_err(fs_error)
    }

    fn rename_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        old_path: String,
        new_descriptor: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.note_call(old_path.len() + new_path.len());
        let from = self.directory(&fd)?;
        let to = self.directory(&new_descriptor)?;
        self.scratch.rename(from, &old_path, to, &new_path).map_err(fs_error)
    }

    fn symlink_at(&mut self, fd: Resource<types::Descriptor>, old_path: String, new_path: String) -> FsResult<()> {
        self.note_call(old_path.len() + new_path.len());
        let base = self.directory(&fd)?;
        self.scratch.symlink(base, &old_path, &new_path).map_err(fs_error)
    }

    fn unlink_file_at(&mut self, fd: Resource<types::Descriptor>, path: String) -> FsResult<()> {
        self.note_call(path.len());
        let base = self.directory(&fd)?;
        self.scratch.unlink(base, &path).map_err(fs_error)
    }

    fn is_same_object(
        &mut self,
        a: Resource<types::Descriptor>,
        b: Resource<types::Descriptor>,
    ) -> wasmtime::Result<bool> {
        self.note_call(0);
        let a: Descriptor = *super::entry(&self.table, &a)?;
        let b: Descriptor = *super::entry(&self.table, &b)?;
        Ok(a.inode == b.inode)
    }

    fn metadata_hash(&mut self, fd: Resource<types::Descriptor>) -> FsResult<MetadataHashValue> {
        Ok(metadata_hash(self.descriptor(&fd)?.inode))
    }

    fn metadata_hash_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        Ok(metadata_hash(self.resolve_at(&fd, path_flags, &path)?))
    }

    fn drop(&mut self, fd: Resource<types::Descriptor>) -> wasmtime::Result<()> {
        self.note_call(0);
        let descriptor: Descriptor = super::delete(&mut self.table, &fd)?;
        self.scratch.release(descriptor.inode);
        Ok(())
    }
}

impl types::HostDirectoryEntryStream for Guest {
    fn read_directory_entry(&mut self, stream: Resource<DirectoryEntryStream>) -> FsResult<Option<DirectoryEntry>> {
        self.note_call(0);
        let listing: &mut Listing = super::entry_mut(&mut self.table, &stream)?;
        let next = self.scratch.next_entry(listing.directory, listing.after.as_deref()).map_err(fs_error)?;
        Ok(next.map(|(name, file_type)| {
            listing.after = Some(name.clone());
            DirectoryEntry { type_: descriptor_type(file_type), name }
        }))
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.note_call(0);
        let listing: Listing = super::delete(&mut self.table, &stream)?;
        self.scratch.release(listing.directory);
        Ok(())
    }
}
